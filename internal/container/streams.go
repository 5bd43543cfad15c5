package container

import (
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
	connection     client.HijackedResponse
	stdout, stderr bounded
	done           chan error
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
	err := s.split()
	if limit := cmp.Or(s.stdout.exceeded, s.stderr.exceeded); limit != "" {
		err = &LimitError{limit}
	} else if err != nil {
		err = &UnreachableError{"the output of the container was cut off: " + short(err.Error())}
	}
	s.done <- err
}

// split reads the frames of both streams: a byte with the number of the stream, three unused bytes, four with the length, and the data.
func (s *streams) split() error {
	const standardInput, standardOutput, standardError = 0, 1, 2
	for {
		var header [8]byte
		if n, err := io.ReadFull(s.connection.Reader, header[:]); err == io.EOF || n == 0 && s.inputLeft(err) {
			return nil
		} else if err != nil {
			return err
		}
		var to io.Writer
		switch header[0] {
		case standardInput, standardOutput: // an echo of the input is output
			to = &s.stdout
		case standardError:
			to = &s.stderr
		default:
			return fmt.Errorf("it has a stream %d", header[0])
		}
		if _, err := io.CopyN(to, s.connection.Reader, int64(binary.BigEndian.Uint32(header[4:]))); err != nil {
			return err
		}
	}
}

// inputLeft reports whether an error means that the engine closed the connection without reading all input, because the container ended before. A
// socket of this machine delivers all output that was written before. From another machine, the output may be lost.
func (s *streams) inputLeft(err error) bool {
	_, local := s.connection.Conn.RemoteAddr().(*net.UnixAddr)
	return local && errors.Is(err, syscall.ECONNRESET)
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
