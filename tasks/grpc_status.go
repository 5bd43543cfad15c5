package tasks

import (
	"context"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/limits"
)

// statusOfGRPC returns the name of a code in the protocol, and the status of HTTP with the same meaning.
func statusOfGRPC(code codes.Code) (name string, equivalent int) {
	const closed = 499 // the client disconnected, as nginx defines it
	switch code {
	case codes.Canceled:
		return "CANCELLED", closed
	case codes.InvalidArgument:
		return "INVALID_ARGUMENT", http.StatusBadRequest
	case codes.DeadlineExceeded:
		return "DEADLINE_EXCEEDED", http.StatusGatewayTimeout
	case codes.NotFound:
		return "NOT_FOUND", http.StatusNotFound
	case codes.AlreadyExists:
		return "ALREADY_EXISTS", http.StatusConflict
	case codes.PermissionDenied:
		return "PERMISSION_DENIED", http.StatusForbidden
	case codes.ResourceExhausted:
		return "RESOURCE_EXHAUSTED", http.StatusTooManyRequests
	case codes.FailedPrecondition:
		return "FAILED_PRECONDITION", http.StatusBadRequest
	case codes.Aborted:
		return "ABORTED", http.StatusConflict
	case codes.OutOfRange:
		return "OUT_OF_RANGE", http.StatusBadRequest
	case codes.Unimplemented:
		return "UNIMPLEMENTED", http.StatusNotImplemented
	case codes.Internal:
		return "INTERNAL", http.StatusInternalServerError
	case codes.Unavailable:
		return "UNAVAILABLE", http.StatusServiceUnavailable
	case codes.DataLoss:
		return "DATA_LOSS", http.StatusInternalServerError
	case codes.Unauthenticated:
		return "UNAUTHENTICATED", http.StatusUnauthorized
	}
	return "UNKNOWN", http.StatusInternalServerError
}

// grpcEnd describes the end of a call without an answer.
type grpcEnd struct {
	err      error
	answered bool      // by the server, to the end
	unmade   error     // why there is no connection; nil if there is one
	deadline time.Time // that was sent to the server
}

// maxLate is the maximum time between the end of a call at the server and at the performer, which both know the same deadline.
const maxLate = time.Second

// failure returns the error of a call.
func (request *grpcRequest) failure(ctx context.Context, call *grpcCall, end grpcEnd) error {
	if fault := errors.AsError(end.err); fault != nil {
		return fault
	}
	what := call.method.Path + " of " + request.Target.Address
	s, ok := status.FromError(end.err)
	switch {
	case !ok:
		return end.err
	case s.Code() == codes.ResourceExhausted && (!end.answered || strings.HasPrefix(s.Message(), "grpc: received message larger")):
		return limits.Exceeded(limits.Response)
	case s.Code() == codes.DeadlineExceeded:
		end.await(ctx)
	case s.Code() == codes.Unavailable && !end.answered && end.unmade != nil:
		fault, need := unreached(what, end.unmade)
		return leftTo(need, fault)
	case s.Code() == codes.Unavailable && !end.answered && !strings.HasPrefix(s.Message(), "unexpected HTTP status"):
		return errors.Communicationf("%s: %s", what, cut(s.Message()))
	}
	name, equivalent := statusOfGRPC(s.Code())
	fault := errors.Communicationf("%s: %s", what, cut(s.Message()))
	fault.Status, fault.Title = equivalent, "gRPC "+name
	return fault
}

// await waits until the deadline that has passed at the server has passed here, too. The deadline is then the cause of the task's end.
func (end grpcEnd) await(ctx context.Context) {
	left := time.Until(end.deadline)
	if end.deadline.IsZero() || left > maxLate {
		return
	}
	soon := time.NewTimer(max(left, 0) + maxLate)
	defer soon.Stop()
	select {
	case <-ctx.Done():
	case <-soon.C:
	}
}
