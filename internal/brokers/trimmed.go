package brokers

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"sync/atomic"

	"github.com/swrun/swrun/errors"
)

// trimmedConn is a connection by AMQP 1.0 over which one message arrives at a time. Of a message that is too large, it passes on only the frame
// without the content, so that the library can reject the message. Otherwise the library would assemble the whole message first.
type trimmedConn struct {
	net.Conn
	most int    // maximum number of bytes of a message
	more func() // lets the broker send the next frame

	ready   bytes.Buffer // the data to be read
	held    []transfer   // of a message that is not complete, nor too large
	total   int          // bytes of it so far
	trimmed atomic.Bool  // the last message was too large
}

// transfer is a frame with a part of a message.
type transfer struct {
	frame []byte
	head  int // bytes before the part of the message
}

const (
	// amqp1Frame is the maximum size of a frame, which the library sends to the broker.
	amqp1Frame = 64 << 10
	// amqp1Header is the size of a frame's header: the frame's size, the place of its body, its type, its channel.
	amqp1Header = 8
)

// over puts t over a new connection.
func (t *trimmedConn) over(conn net.Conn) net.Conn {
	t.Conn, t.held, t.total = conn, nil, 0
	t.ready.Reset()
	return t
}

// Read reads the received data, frame by frame.
func (t *trimmedConn) Read(p []byte) (int, error) {
	for t.ready.Len() == 0 {
		frame, err := t.frame()
		if err != nil {
			return 0, err
		}
		if err := t.take(frame); err != nil {
			return 0, err
		}
	}
	return t.ready.Read(p)
}

// frame reads a frame, or the announcement of a protocol, which is as long as the header of a frame.
func (t *trimmedConn) frame() ([]byte, error) {
	var header [amqp1Header]byte
	if _, err := io.ReadFull(t.Conn, header[:]); err != nil {
		return nil, err
	}
	if bytes.HasPrefix(header[:], []byte("AMQP")) {
		return header[:], nil
	}
	size := binary.BigEndian.Uint32(header[:])
	if size < amqp1Header || size > amqp1Frame {
		return nil, ErrTooLarge
	}
	frame := append(make([]byte, 0, size), header[:]...)[:size]
	_, err := io.ReadFull(t.Conn, frame[amqp1Header:])
	t.more()
	return frame, err
}

// take passes a frame on, or keeps it until its message is complete.
func (t *trimmedConn) take(frame []byte) error {
	head, goesOn, err := parseTransfer(frame)
	if err != nil || head == 0 {
		t.ready.Write(frame)
		return err
	}
	was := t.total
	if t.total += len(frame) - head; t.total > MaxSkimmed {
		return ErrTooLarge
	}
	t.held = append(t.held, transfer{frame, head})
	if tooLarge := t.total > t.most; tooLarge || !goesOn {
		if was <= t.most { // once for each message
			t.trimmed.Store(tooLarge)
		}
		for _, one := range t.held {
			t.pass(one, tooLarge)
		}
		t.held = nil
	}
	if !goesOn {
		t.total = 0
	}
	return nil
}

// pass passes a transfer on, without its part of the message if that is to be trimmed.
func (t *trimmedConn) pass(one transfer, trim bool) {
	if trim {
		one.frame = one.frame[:one.head]
		binary.BigEndian.PutUint32(one.frame, uint32(one.head))
	}
	t.ready.Write(one.frame)
}

// errNoAMQP1 is the error for a server with another protocol.
var errNoAMQP1 = errors.New("the broker sends a frame that is none of AMQP 1.0")

// parseTransfer returns the place of the message's part in a frame, and whether more parts follow; 0 if the frame contains no part.
func parseTransfer(frame []byte) (head int, goesOn bool, err error) {
	const amqp, list8, list32, moreField = 0, 0xc0, 0xd0, 5
	if len(frame) <= amqp1Header || frame[5] != amqp || 4*int(frame[4]) > len(frame) {
		return 0, false, nil
	}
	at := max(amqp1Header, 4*int(frame[4]))
	body, isTransfer := bytes.CutPrefix(frame[at:], []byte{0, 0x53, 0x14})
	if !isTransfer {
		body, isTransfer = bytes.CutPrefix(frame[at:], []byte{0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0x14})
	}
	if !isTransfer {
		return 0, false, nil
	}
	size := valueSize(body)
	if size <= 0 || size > len(body) {
		return 0, false, errNoAMQP1
	}
	head = len(frame) - len(body) + size
	fields := body[:size]
	switch fields[0] {
	case list8:
		fields = fields[min(3, size):]
	case list32:
		fields = fields[min(9, size):]
	default:
		return 0, false, errNoAMQP1
	}
	for range moreField {
		next := valueSize(fields)
		if next <= 0 || next > len(fields) {
			return head, false, nil // the rest is left out
		}
		fields = fields[next:]
	}
	isTrue := bytes.HasPrefix(fields, []byte{0x41}) || bytes.HasPrefix(fields, []byte{0x56, 1})
	return head, isTrue, nil
}

// valueSize returns the size in bytes of the value at the beginning of a text of AMQP 1.0, which its first byte determines. It is 0 for values
// without such a size.
func valueSize(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	switch kind := text[0] >> 4; kind {
	case 4:
		return 1
	case 5, 6, 7, 8, 9:
		return 1 + 1<<(kind-5)
	case 0xa, 0xc, 0xe:
		if len(text) > 1 {
			return 2 + int(text[1])
		}
	case 0xb, 0xd, 0xf:
		if len(text) > 4 {
			return 5 + int(binary.BigEndian.Uint32(text[1:]))
		}
	}
	return 0
}
