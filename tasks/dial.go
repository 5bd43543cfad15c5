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

// Control is asked before each connection, with the address that is really dialled. What it returns keeps the connection from being made.
type Control func(network, address string, c syscall.RawConn) error

// Dial opens a connection, as net.Dialer.DialContext does. Whatever a task reaches, it reaches through one.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// maxDial bounds how long a server takes to accept a connection.
const maxDial = 30 * time.Second

// NewDial returns a Dial that asks control; nil allows all.
func NewDial(control Control) Dial {
	return (&net.Dialer{Timeout: maxDial, KeepAlive: maxDial, Control: control}).DialContext
}

// NotAllowedError is what Control returns for an address that may not be called here. A call of it fails with a configuration error:
// trying again here does not help.
type NotAllowedError struct {
	Detail  string
	Address string // that was to be dialled: an IP address and a port, or a name and a port if names are not looked up
	Nowhere bool   // it may be called by no other worker either
}

func (e *NotAllowedError) Error() string { return e.Detail }

// unreached returns the error of a call that got no answer; what says what was called. If the address may not be called here, need is
// what a worker must have that may: as long as nothing has been sent, the call can be left to that one (interpreter.NeedError).
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

// connectionFailure says why there is no answer; what libraries leave in the terms of Go, in words.
func connectionFailure(err error) string {
	for _, closed := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe} {
		if errors.Is(err, closed) {
			return "the other side has closed the connection"
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) { // of a connection: that of the call has a cause of its own
		return "the other side has not answered in time"
	}
	text := cut(cause(err))
	if errors.As(err, new(x509.UnknownAuthorityError)) {
		text += ": SSL_CERT_FILE names a file of the authorities that this process trusts, and a policy of the scheme certificate has its own `authority`"
	}
	return text
}

// leftTo returns the error of a call that is left to a worker which has what it needs; if it needs nothing, its own.
func leftTo(need string, fault *errors.Error) error {
	if need == "" {
		return fault
	}
	return &interpreter.NeedError{Need: need, Err: fault}
}
