package brokers

import (
	"context"
	"sync"
)

// mailbox holds what a library has received in a goroutine of its own, until somebody wants it.
type mailbox struct {
	messages chan *Delivery
	ended    chan struct{} // closed once nothing comes any more
	once     sync.Once
	err      error // why
}

// mailboxSize is how many messages wait in a mailbox. When it is full, the library reads no more.
const mailboxSize = 100

func newMailbox() *mailbox {
	return &mailbox{messages: make(chan *Delivery, mailboxSize), ended: make(chan struct{})}
}

// put adds a message, once there is room for it.
func (m *mailbox) put(d *Delivery) {
	select {
	case m.messages <- d:
	case <-m.ended:
	}
}

// end says that nothing comes any more. The first reason is kept.
func (m *mailbox) end(why error) {
	m.once.Do(func() {
		m.err = why
		close(m.ended)
	})
}

// receive waits for a message. What has come before the end is received too.
func (m *mailbox) receive(ctx context.Context) (*Delivery, error) {
	select {
	case d := <-m.messages:
		return d, nil
	default:
	}
	select {
	case d := <-m.messages:
		return d, nil
	case <-m.ended:
		return nil, m.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
