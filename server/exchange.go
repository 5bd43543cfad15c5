package server

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/store"
)

// Limits of a request in progress. A whole answer has no limit: a caller may wait for the end of a run, or follow it.
const (
	// DefaultBodyWithin is the default time within which the whole body must arrive.
	DefaultBodyWithin = 30 * time.Second
	// DefaultWriteWithin is the default time within which a caller must read the next piece of an answer.
	DefaultWriteWithin = 30 * time.Second
)

// applied returns the member `applied` of the problem of a change that was not completed: whether something may have been changed. It is empty for a
// request that only reads.
func (x *exchange) applied() string {
	switch {
	case x == nil || x.method == http.MethodGet || x.method == http.MethodHead:
		return ""
	case x.attempt.MayHaveChanged():
		return api.AppliedMaybe
	}
	return api.AppliedNo
}

// exchange is a request with its answer. It writes the answer, and contains the data of the audit log. A caller that sends or reads bytes too slowly
// is cut off.
type exchange struct {
	http.ResponseWriter
	began   time.Time
	within  time.Duration // for the next piece of the answer
	status  int           // 0 until it is sent
	caller  Caller        // zero if no caller was identified
	route   string        // the operation; empty for none
	reason  string        // the reason in the request of a command
	method  string
	subject string // the changed object, if the path does not name it
	refusal string // the reason of the refusal; empty if the operation was carried out
	// attempt reports whether something may have been changed.
	attempt store.Attempt

	unread    bool         // its body has not arrived
	unaudited bool         // the caller did not ask for a change
	check     func() error // whether its caller may still use the operation

	answering            sync.Mutex                 // guards answer until the answer is written
	text, values, answer *held                      // memory; nil if nothing is reserved
	room                 func(int64) (*held, error) // reserves memory for the text of the answer; nil before the caller is known
	try                  func(int64) *held          // reserves memory if enough is free, and returns nil otherwise
}

// stillAllowed returns the reason why the caller may no longer use a long operation. It is cheap, because the tokens cache their answers for
// access.KnownFor.
func (x *exchange) stillAllowed() error { return x.check() }

type exchangeKey struct{}

// exchangeOf returns the exchange of a request's context. ServeHTTP has added it.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// begin returns the exchange of a request, and the request for the routes.
func (s *Server) begin(w http.ResponseWriter, r *http.Request) (*exchange, *http.Request) {
	x := &exchange{ResponseWriter: w, began: s.config.Now(), within: cmp.Or(s.config.WriteWithin, DefaultWriteWithin), method: r.Method}
	r = r.WithContext(store.WithAttempt(context.WithValue(r.Context(), exchangeKey{}, x), &x.attempt))
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &timedBody{ReadCloser: r.Body, connection: http.NewResponseController(w), within: cmp.Or(s.config.BodyWithin, DefaultBodyWithin), of: x}
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // removes the deadline of the previous request on the same connection
	secure(w.Header())
	if r.TLS != nil {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
	return x, r
}

func (x *exchange) WriteHeader(status int) {
	if x.unread && status == http.StatusInternalServerError {
		status = http.StatusBadRequest // the library treats it as an error of the server, but the caller has disconnected
	}
	if x.status == 0 {
		x.status = status
	}
	x.allowWrite()
	x.ResponseWriter.WriteHeader(status)
}

func (x *exchange) Write(p []byte) (written int, err error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	taken, err := x.hold(ofWritten * int64(len(p)))
	if err != nil {
		_ = http.NewResponseController(x.ResponseWriter).SetWriteDeadline(time.Unix(1, 0)) // a part of the answer is sent, and must not look complete
		return 0, err
	}
	defer taken.end()
	for piece := range slices.Chunk(p, maxPiece) { // a caller that reads a large answer slowly, but steadily, is not cut off
		x.allowWrite()
		n, err := x.ResponseWriter.Write(piece)
		if written += n; err != nil {
			return written, err
		}
	}
	return written, nil
}

// hold reserves memory for the next bytes of the answer, unless the answer holds its memory already.
func (x *exchange) hold(bytes int64) (*held, error) {
	if x.answer != nil {
		x.answer.keep(bytes)
		return nil, nil
	}
	if x.room == nil || bytes <= ofWritten*smallBody {
		return nil, nil
	}
	return x.room(bytes)
}

// ofWritten is the memory that each written byte of an answer takes, in bytes: its text, and the source of the text.
const ofWritten = 2

// maxPiece is the maximum size of a piece of an answer, in bytes. The caller has DefaultWriteWithin for each piece.
const maxPiece = 32 << 10

// Flush sends the bytes that were written before.
func (x *exchange) Flush() {
	x.allowWrite()
	_ = http.NewResponseController(x.ResponseWriter).Flush() // the next write reports a disconnected caller
}

// allowWrite sets the time for the next write. A connection without support for deadlines has no limit.
func (x *exchange) allowWrite() {
	_ = http.NewResponseController(x.ResponseWriter).SetWriteDeadline(time.Now().Add(x.within))
}

// SetReadDeadline does nothing: the body has its own deadline, and a deadline that outlasts the body would end a request that waits.
func (x *exchange) SetReadDeadline(time.Time) error { return nil }

// Unwrap returns the writer below, for http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// timedBody is a body that must arrive within a time.
type timedBody struct {
	io.ReadCloser
	connection *http.ResponseController
	within     time.Duration
	began      bool
	of         *exchange
}

func (b *timedBody) Read(p []byte) (int, error) {
	if !b.began {
		b.began = true
		_ = b.connection.SetReadDeadline(time.Now().Add(b.within)) // otherwise the deadline of the header would apply
	}
	n, err := b.ReadCloser.Read(p)
	b.of.unread = b.of.unread || err != nil && !errors.Is(err, io.EOF)
	if errors.Is(err, io.EOF) {
		_ = b.connection.SetReadDeadline(time.Time{})
	}
	return n, err
}

// writeProblem answers a request that reached no operation.
func (x *exchange) writeProblem(p *api.Problem) {
	x.refusal = p.Detail
	x.Header().Set("Content-Type", api.ProblemMediaType)
	retryAfter(x.Header(), p)
	x.WriteHeader(p.Status)
	_ = api.Write(x, p) // a disconnected caller needs no answer
}
