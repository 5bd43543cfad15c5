package tasks

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/swrun/swrun/internal/brokers"
)

// subscriptions are the connections of subscriptions. Each connection is kept for a while between two effects of its task.
type subscriptions struct {
	mu   sync.Mutex
	open map[string]*subscription // by their names
}

// subscription is one subscription, with or without a connection. One effect uses it at a time.
type subscription struct {
	name  string
	users int           // effects that use it or wait for it
	turn  chan struct{} // has room for the effect that uses it
	idle  *time.Timer   // nil while the subscription is in use

	connection brokers.Subscription // nil without a connection
	skims      bool                 // the connection is made for a message that is too large, or will be
	disconnect context.CancelFunc
	madeAt     time.Time
	number     string              // of the connection
	received   int                 // number of messages received over it
	held       []*brokers.Delivery // received, and not known to be consumed; in their order
}

// take returns a subscription once no other effect uses it. The caller must give it back.
func (all *subscriptions) take(ctx context.Context, name string) (*subscription, error) {
	all.mu.Lock()
	s := all.open[name]
	if s == nil {
		if all.open == nil {
			all.open = map[string]*subscription{}
		}
		s = &subscription{name: name, turn: make(chan struct{}, 1)}
		all.open[name] = s
	}
	if s.users++; s.idle != nil {
		s.idle.Stop()
		s.idle = nil
	}
	all.mu.Unlock()
	select {
	case s.turn <- struct{}{}:
		return s, nil
	case <-ctx.Done():
		all.leave(s)
		return nil, context.Cause(ctx)
	}
}

// giveBack gives a subscription back.
func (all *subscriptions) giveBack(s *subscription) {
	<-s.turn
	all.leave(s)
}

// leave counts one user less. The connection of an unused subscription is closed after a while.
func (all *subscriptions) leave(s *subscription) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	if s.connection == nil {
		delete(all.open, s.name)
		return
	}
	s.idle = time.AfterFunc(maxIdle, func() { all.forget(s) })
}

// forget closes the connection of a subscription that was unused for a long time. The broker keeps the subscription for a later connection.
func (all *subscriptions) forget(s *subscription) {
	all.mu.Lock()
	unused := s.users == 0 && all.open[s.name] == s
	if unused {
		delete(all.open, s.name)
	}
	all.mu.Unlock()
	if unused {
		s.close(false)
	}
}

// connect makes a connection unless the subscription has one. ctx ends it only while it is being made.
func (s *subscription) connect(ctx context.Context, client *brokers.Client) error {
	if s.connection != nil {
		return nil
	}
	client.Skims = s.skims
	living, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, disconnect)
	connection, err := client.Subscribe(living, s.name)
	if !stop() && err == nil { // ctx ended while the connection was made
		connection.Close(false)
		err = ctx.Err()
	}
	if err != nil {
		disconnect()
		return err
	}
	s.connection, s.disconnect, s.madeAt, s.number, s.received, s.held = connection, disconnect, time.Now(), rand.Text(), 0, nil
	return nil
}

// close ends the connection, if it exists; over reports that the subscription is over, too.
func (s *subscription) close(over bool) {
	s.skims = false
	if s.connection == nil {
		return
	}
	s.connection.Close(over)
	s.disconnect()
	s.connection, s.held = nil, nil
}

// consumed acknowledges the consumed messages to the broker. Known messages were acknowledged before.
func (s *subscription) consumed(ctx context.Context, asked *receiving) error {
	var all []*brokers.Delivery
	for _, handle := range asked.Done {
		at, d := s.holds(handle), &brokers.Delivery{Handle: handle}
		if at >= 0 { // otherwise it arrived over another connection
			d = s.held[at]
			s.held = slices.Delete(s.held, at, at+1)
		}
		d.Unfit = handle == asked.Unfit
		all = append(all, d)
	}
	s.held = slices.DeleteFunc(s.held, func(d *brokers.Delivery) bool { return slices.Contains(asked.Known, d.Handle) })
	if len(all) == 0 {
		return nil
	}
	return s.connection.Acknowledge(ctx, all)
}

// next returns the message after the messages that were received in this turn, and keeps it until it is known to be consumed. A message that the task
// knows is acknowledged to the broker immediately.
func (s *subscription) next(ctx context.Context, at int, asked *receiving) (*brokers.Delivery, error) {
	for at >= len(s.held) {
		if _, err := s.receiveOne(ctx, asked); err != nil {
			return nil, err
		}
	}
	return s.held[at], nil
}

// receiveOne receives a message and returns its handle. It holds the message if the message is new.
func (s *subscription) receiveOne(ctx context.Context, asked *receiving) (handle string, err error) {
	d, err := s.connection.Receive(ctx)
	if err != nil {
		return "", err
	}
	s.received++
	s.label(d, asked)
	switch before := s.holds(d.Handle); {
	case asked.has(d.Handle):
		d.Unfit = d.Handle == asked.Unfit
		err = s.connection.Acknowledge(ctx, []*brokers.Delivery{d})
	case before >= 0:
		s.held[before] = d // it arrived again, and this delivery is the one to acknowledge
	default:
		s.held = append(s.held, d)
	}
	return d.Handle, err
}

// label gives a message without a handle a handle of this connection. A broker that keeps no messages sends each message once, and other brokers send
// it again as if it were another message. A message that arrives for the first time with the handle of another message gets a new handle, too.
func (s *subscription) label(d *brokers.Delivery, asked *receiving) {
	if d.Handle == "" || d.First && (asked.has(d.Handle) || s.holds(d.Handle) >= 0) {
		d.Handle = s.number + "-" + strconv.Itoa(s.received)
	}
}

// holds returns the position of a message among the held messages; -1 if it is not held.
func (s *subscription) holds(handle string) int {
	return slices.IndexFunc(s.held, func(d *brokers.Delivery) bool { return d.Handle == handle })
}
