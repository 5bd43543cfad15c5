package framing

import (
	"encoding/binary"
	"net"
)

// AMQP follows the data of a broker in AMQP 0.9.1, whose frames have at most frame bytes. The library panics on a heartbeat on a channel other than
// 0, which no broker sends.
func (g *Guard) AMQP(conn net.Conn, frame int) net.Conn {
	f := &amqpFrames{frame: frame, most: uint64(g.Most)}
	return g.over(conn, f.follow)
}

// amqpFrames follows frames: seven bytes with the type, the channel and the size, the rest, and a byte that ends it.
type amqpFrames struct {
	frame int
	most  uint64
	head  []byte // the bytes of the frame that have arrived
	skip  int
}

const (
	amqpHead      = 7
	amqpHeader    = 2
	amqpHeartbeat = 8
	// amqpSized is the end of the size of a message in a frame with its header: after the class and the weight.
	amqpSized = amqpHead + 2 + 2 + 8
)

func (f *amqpFrames) follow(p []byte) error {
	for len(p) > 0 {
		if skipped := min(f.skip, len(p)); skipped > 0 {
			f.skip -= skipped
			p = p[skipped:]
			continue
		}
		f.head = append(f.head, p[0])
		p = p[1:]
		if err := f.begun(); err != nil {
			return err
		}
	}
	return nil
}

// begun examines the arrived bytes of a frame.
func (f *amqpFrames) begun() error {
	if len(f.head) < amqpHead {
		return nil
	}
	kind, channel, size := f.head[0], binary.BigEndian.Uint16(f.head[1:]), int64(binary.BigEndian.Uint32(f.head[3:]))
	switch {
	case kind > amqpHeartbeat:
		return ErrBroken
	case size > int64(f.frame):
		return ErrTooLarge
	case kind == amqpHeartbeat && channel != 0:
		return ErrBroken
	case kind == amqpHeader && size < amqpSized-amqpHead:
		return ErrBroken
	case kind == amqpHeader && len(f.head) < amqpSized:
		return nil
	case kind == amqpHeader && binary.BigEndian.Uint64(f.head[amqpSized-8:]) > f.most:
		return ErrTooLarge
	}
	f.skip = amqpHead + int(size) + 1 - len(f.head)
	f.head = f.head[:0]
	return nil
}
