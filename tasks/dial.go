package tasks

import (
	"context"
	"crypto/x509"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/interpreter"
)

// Control is called before each connection, with the address of the connection. An error prevents the connection.
type Control func(network, address string, c syscall.RawConn) error

// Dial opens a connection, as net.Dialer.DialContext does. All connections of tasks go through a Dial.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// maxDial bounds how long a server takes to accept a connection.
const maxDial = 30 * time.Second

// NewDial returns a Dial that calls control; nil allows all.
func NewDial(control Control) Dial {
	return (&net.Dialer{Timeout: maxDial, KeepAlive: maxDial, Control: control}).DialContext
}

// NotAllowedError is the error of Control for an address that may not be called here. A call of the address fails with a configuration error, because
// another attempt here does not help.
type NotAllowedError struct {
	Detail  string
	Address string // the dialled address: an IP address and a port, or a name and a port if names are not looked up
	Nowhere bool   // it may be called by no other worker either
}

func (e *NotAllowedError) Error() string { return e.Detail }

// unreached returns the error of a call without an answer; what names the target of the call. If the address may not be called here, need is the
// requirement on a worker that may call it. As long as nothing was sent, the call can be left to such a worker (interpreter.NeedError).
func unreached(what string, err error) (fault *errors.Error, need string) {
	var notAllowed *NotAllowedError
	if errors.As(err, &notAllowed) {
		fault = errors.Configurationf("%s: %s", what, notAllowed.Detail)
		if notAllowed.Nowhere {
			return fault, ""
		}
		return fault, interpreter.NeedNetwork(notAllowed.Address)
	}
	if why := refusedCertificate(err); why != "" {
		return errors.Authenticationf("%s: %s", what, why), ""
	}
	return errors.Communicationf("%s: %s", what, connectionFailure(err)), ""
}

// connectionFailure explains in words why there is no answer. It replaces the Go terms that libraries leave.
func connectionFailure(err error) string {
	for _, closed := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe} {
		if errors.Is(err, closed) {
			return "the other side has closed the connection"
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) { // of a connection; the deadline of the call has its own cause
		return "the other side has not answered in time"
	}
	text := cut(cause(err))
	if errors.As(err, new(x509.UnknownAuthorityError)) {
		text += ": SSL_CERT_FILE names a file of the authorities that this process trusts, and a policy of the scheme certificate has its own `authority`"
	}
	return text
}

// leftTo returns the error of a call that is left to a worker that meets need; without a need, it returns the call's own error.
func leftTo(need string, fault *errors.Error) error {
	if need == "" {
		return fault
	}
	return &interpreter.NeedError{Need: need, Err: fault}
}
