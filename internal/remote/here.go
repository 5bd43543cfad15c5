package remote

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// Handler returns the handler of an operation in this process. It calls failed with an error that is no refusal of the request, such as that of a store.
type Handler func(operation string, failed func(error)) http.Handler

// here sends requests to handlers of this process.
type here struct{ handler Handler }

// ownError is the error of a handler of this process.
type ownError struct{ error }

// Unwrap returns the error.
func (e ownError) Unwrap() error { return e.error }

// RoundTrip implements http.RoundTripper.
func (t here) RoundTrip(r *http.Request) (*http.Response, error) {
	var failure error
	w := &answer{header: http.Header{}, status: http.StatusOK}
	t.handler(operationOf(r.Context()), func(err error) { failure = err }).ServeHTTP(w, r)
	if failure != nil {
		return nil, ownError{failure}
	}
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status), Proto: r.Proto, ProtoMajor: r.ProtoMajor, ProtoMinor: r.ProtoMinor,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
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

// operationOf returns the operation that a request asks for.
func operationOf(ctx context.Context) string {
	id, _ := ctx.Value(operationKey{}).(string)
	return id
}
