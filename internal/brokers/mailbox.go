package brokers

import (
	"context"
	"sync"
)

// mailbox contains the messages that a library received in its own goroutine, until they are read.
type mailbox struct {
	messages chan *Delivery
	ended    chan struct{} // closed after the last message
	once     sync.Once
	err      error // the reason for the end
}

// mailboxSize is the number of messages in a full mailbox. When it is full, the library reads no more.
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

// end marks the end of the messages. The first reason is kept.
func (m *mailbox) end(why error) {
	m.once.Do(func() {
		m.err = why
		close(m.ended)
	})
}

// receive waits for a message. Messages that arrived before the end are received too.
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
