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

// subscriptions are the connections of subscriptions, each of which is kept for a while between two effects of its task.
type subscriptions struct {
	mu   sync.Mutex
	open map[string]*subscription // by their names
}

// subscription is one, with a connection or without. One effect has it at a time.
type subscription struct {
	name  string
	users int           // effects that have it, or wait for it
	turn  chan struct{} // has room for the one that has it
	idle  *time.Timer   // nil unless nobody has it

	connection brokers.Subscription // nil if there is none
	skims      bool                 // the connection is there for a message that is too large, or will be
	disconnect context.CancelFunc
	madeAt     time.Time
	number     string              // of the connection
	received   int                 // messages, over it
	held       []*brokers.Delivery // received, and not known to be consumed; in their order
}

// take returns a subscription once nobody else has it. Who takes it gives it back.
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

// leave counts a user less. What nobody needs is closed after a while, if there is a connection.
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

// forget closes the connection of a subscription that nobody has used for long. Its broker keeps it for who comes back.
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

// connect makes a connection unless there is one. It ends with ctx only while it is being made.
func (s *subscription) connect(ctx context.Context, client *brokers.Client) error {
	if s.connection != nil {
		return nil
	}
	client.Skims = s.skims
	living, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, disconnect)
	connection, err := client.Subscribe(living, s.name)
	if !stop() && err == nil { // it has ended meanwhile
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

// close ends the connection, if there is one; over says that the subscription is over, too.
func (s *subscription) close(over bool) {
	s.skims = false
	if s.connection == nil {
		return
	}
	s.connection.Close(over)
	s.disconnect()
	s.connection, s.held = nil, nil
}

// consumed tells the broker what was consumed. Of known messages it was told before.
func (s *subscription) consumed(ctx context.Context, asked *receiving) error {
	var all []*brokers.Delivery
	for _, handle := range asked.Done {
		at, d := s.holds(handle), &brokers.Delivery{Handle: handle}
		if at >= 0 { // otherwise it came over another connection
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

// next returns the message that comes after those that were received in this turn, and keeps it until it is known to be consumed. What is not new
// for the task is told to the broker at once.
func (s *subscription) next(ctx context.Context, at int, asked *receiving) (*brokers.Delivery, error) {
	for at >= len(s.held) {
		if _, err := s.receiveOne(ctx, asked); err != nil {
			return nil, err
		}
	}
	return s.held[at], nil
}

// receiveOne receives a message and returns its handle. It is held unless it is not new.
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
		s.held[before] = d // it came again, and is acknowledged as such
	default:
		s.held = append(s.held, d)
	}
	return d.Handle, err
}

// label gives a message a handle of this connection if it has none: a broker that keeps nothing sends it once, others send it again as if it were
// another one. So it is with a message that comes for the first time and is called as another one was.
func (s *subscription) label(d *brokers.Delivery, asked *receiving) {
	if d.Handle == "" || d.First && (asked.has(d.Handle) || s.holds(d.Handle) >= 0) {
		d.Handle = s.number + "-" + strconv.Itoa(s.received)
	}
}

// holds returns where a message is among those that are held; -1 if it is not.
func (s *subscription) holds(handle string) int {
	return slices.IndexFunc(s.held, func(d *brokers.Delivery) bool { return d.Handle == handle })
}
