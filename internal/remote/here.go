package remote

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/swrun/swrun/internal/api"
)

// here sends requests to a handler of this process. It reads answers completely, so it cannot follow streams of events.
type here struct{ handler http.Handler }

// ownError is an error of this process. It comes from no answer.
type ownError struct{ error }

// Unwrap returns the error.
func (e ownError) Unwrap() error { return e.error }

// RoundTrip implements http.RoundTripper.
func (t here) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody // a connection does the same
	}
	call := &api.Call{Operation: operationOf(r.Context())}
	a := &answer{header: http.Header{}, status: http.StatusOK}
	t.handler.ServeHTTP(a, r.WithContext(api.WithCall(r.Context(), call)))
	if call.Failure != nil {
		return nil, ownError{call.Failure}
	}
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: r,
	}, nil
}

// answer keeps the answer of a handler.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }

type operationKey struct{}

// withOperation returns a context for a request of an operation.
func withOperation(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, operationKey{}, id)
}

// operationOf returns the operation that a request calls.
func operationOf(ctx context.Context) string {
	id, _ := ctx.Value(operationKey{}).(string)
	return id
}
