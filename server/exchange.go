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

// Bounds of a request that has begun. An answer as a whole has none: a caller may wait for the end of a run, or follow it.
const (
	// DefaultBodyWithin is how long it may take until the whole body has come.
	DefaultBodyWithin = 30 * time.Second
	// DefaultWriteWithin is how long a caller may take for the next piece of an answer.
	DefaultWriteWithin = 30 * time.Second
)

// applied returns what a problem says of a change that was asked for and not carried out wholly: whether something may have been changed. It is empty for a
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

// exchange is a request with its answer: it writes the answer, and knows what is recorded of it. Whoever sends or takes bytes too
// slowly is cut off.
type exchange struct {
	http.ResponseWriter
	began   time.Time
	within  time.Duration // for the next piece of the answer
	status  int           // 0 until it is sent
	caller  Caller        // zero if nobody was identified
	route   string        // the operation; empty for none
	reason  string        // that was given for a command
	method  string
	subject string // the changed object, where the path does not name it
	refusal string // why the operation was refused; empty if it was carried out
	// attempt knows whether something may have been changed.
	attempt store.Attempt

	unread    bool         // its body has not come
	unaudited bool         // it is no change that somebody asks for
	check     func() error // whether its caller may still use the operation

	answering            sync.Mutex                 // guards answer until the answer is written
	text, values, answer *held                      // memory; nil for none
	room                 func(int64) (*held, error) // reserves memory for what is written; nil before the caller is known
	try                  func(int64) *held          // does so if there is enough of it, and returns nil otherwise
}

// stillAllowed returns why the caller may not go on with what takes long. The tokens remember what they know for access.KnownFor, so that it costs little.
func (x *exchange) stillAllowed() error { return x.check() }

type exchangeKey struct{}

// exchangeOf returns the exchange of a request's context, which ServeHTTP has put there.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// begin returns the exchange of a request, and the request as the routes get it.
func (s *Server) begin(w http.ResponseWriter, r *http.Request) (*exchange, *http.Request) {
	x := &exchange{ResponseWriter: w, began: s.config.Now(), within: cmp.Or(s.config.WriteWithin, DefaultWriteWithin), method: r.Method}
	r = r.WithContext(store.WithAttempt(context.WithValue(r.Context(), exchangeKey{}, x), &x.attempt))
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &timedBody{ReadCloser: r.Body, connection: http.NewResponseController(w), within: cmp.Or(s.config.BodyWithin, DefaultBodyWithin), of: x}
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // that of the request before, on the same connection
	secure(w.Header())
	if r.TLS != nil {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
	return x, r
}

func (x *exchange) WriteHeader(status int) {
	if x.unread && status == http.StatusInternalServerError {
		status = http.StatusBadRequest // the library takes it for a mistake of the server's, and it is the caller who has gone
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
		_ = http.NewResponseController(x.ResponseWriter).SetWriteDeadline(time.Unix(1, 0)) // the answer has begun, and must not look whole
		return 0, err
	}
	defer taken.end()
	for piece := range slices.Chunk(p, maxPiece) { // who takes what is large slowly, but takes it, is not cut off
		x.allowWrite()
		n, err := x.ResponseWriter.Write(piece)
		if written += n; err != nil {
			return written, err
		}
	}
	return written, nil
}

// hold makes sure that there is memory for what is written next, unless the answer has its memory already.
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

// ofWritten is how many bytes each byte of an answer takes that is being written: its text, and what the text was made of.
const ofWritten = 2

// maxPiece is how large a piece of an answer is, in bytes, for which its caller has DefaultWriteWithin.
const maxPiece = 32 << 10

// Flush sends what was written so far.
func (x *exchange) Flush() {
	x.allowWrite()
	_ = http.NewResponseController(x.ResponseWriter).Flush() // the next write tells that the caller has gone
}

// allowWrite gives the caller time to take what is written next. A connection that knows no deadlines has none.
func (x *exchange) allowWrite() {
	_ = http.NewResponseController(x.ResponseWriter).SetWriteDeadline(time.Now().Add(x.within))
}

// SetReadDeadline does nothing: the body has a deadline of its own, and a deadline that outlasts it would end a request that waits.
func (x *exchange) SetReadDeadline(time.Time) error { return nil }

// Unwrap returns the writer below, for http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// timedBody is a body that has to come in time.
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
		_ = b.connection.SetReadDeadline(time.Now().Add(b.within)) // without it, the header's is all there is
	}
	n, err := b.ReadCloser.Read(p)
	b.of.unread = b.of.unread || err != nil && !errors.Is(err, io.EOF)
	if errors.Is(err, io.EOF) {
		_ = b.connection.SetReadDeadline(time.Time{})
	}
	return n, err
}
