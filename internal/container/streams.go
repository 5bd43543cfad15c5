package container

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/moby/moby/client"
)

// streams are the streams of an attached container.
type streams struct {
	connection client.HijackedResponse
	output
	done chan error
}

func (s *streams) close() { s.connection.Close() }

// copy writes the input, and reads the output to its end. Both end when the connection is closed.
func (s *streams) copy(j Job) {
	if j.Stdin != nil {
		go func() {
			_, _ = io.WriteString(s.connection.Conn, *j.Stdin) // a container need not read it
			_ = s.connection.CloseWrite()
		}()
	}
	err := s.split(s.connection.Reader)
	if j.Stdin != nil && errors.Is(err, syscall.ECONNRESET) { // the container ended before, and the engine did not read the rest of the input
		_, local := s.connection.Conn.RemoteAddr().(*net.UnixAddr)
		s.lost = s.lost || s.partial || !local // a socket of this machine delivers all output that was written before
		err = nil
	}
	s.done <- explained(err)
}

// output is the output of a container.
type output struct {
	stdout, stderr bounded
	attached       bool // it comes from an attached stream, and not from the log
	partial        bool // it ends within a frame
	lost           bool // its end may be lost, because the container ended before it read its input
}

func newOutput(most int, attached bool) output {
	return output{stdout: bounded{name: "stdout", most: most}, stderr: bounded{name: "stderr", most: most}, attached: attached}
}

// split reads both streams to their end.
func (o *output) split(r *bufio.Reader) error {
	for {
		err := o.frame(r)
		if limit := cmp.Or(o.stdout.exceeded, o.stderr.exceeded); limit != "" {
			return &LimitError{limit}
		}
		if err == io.EOF && !o.partial {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// explained is the error of a task whose output cannot be read.
func explained(err error) error {
	if _, limit := errors.AsType[*LimitError](err); err == nil || limit {
		return err
	}
	return &UnreachableError{"the output of the container was cut off: " + short(err.Error())}
}

// frame reads one frame: a byte with the number of the stream, three unused bytes, four with the length, and the data.
func (o *output) frame(r *bufio.Reader) error {
	const standardInput, standardOutput, standardError = 0, 1, 2
	var header [8]byte
	n, err := io.ReadFull(r, header[:])
	if o.partial = n > 0; err != nil {
		return err
	}
	length := int64(binary.BigEndian.Uint32(header[4:]))
	var to io.Writer
	switch header[0] {
	case standardInput, standardOutput: // an echo of the input is output
		to = &o.stdout
	case standardError:
		if to = &o.stderr; o.attached && isReport(r, length) {
			o.lost, to = true, io.Discard
		}
	default:
		return fmt.Errorf("it has a stream %d", header[0])
	}
	_, err = io.CopyN(to, r, length)
	o.partial = err != nil
	return err
}

// isReport reports whether the next frame of stderr is not of the container, but of Podman: the container ended before it read its input. Podman then
// drops the output that it has not passed on.
func isReport(r *bufio.Reader, length int64) bool {
	const longest = 1 << 10
	for _, begin := range []string{"Error: read unixpacket ", "Error: write unixpacket "} {
		if length > longest || length < int64(len(begin)) {
			continue
		}
		if data, _ := r.Peek(len(begin)); string(data) == begin { // an error comes again with the next read
			return true
		}
	}
	return false
}

// bounded keeps the written data up to a limit.
type bounded struct {
	data           bytes.Buffer
	name, exceeded string
	most           int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.data.Len()+len(p) > b.most {
		b.exceeded = b.name
		return 0, io.ErrShortWrite
	}
	return b.data.Write(p)
}
