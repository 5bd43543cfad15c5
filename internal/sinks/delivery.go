package sinks

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// delivery sends the events of one session.
type delivery struct {
	*sink
	connecting sync.Mutex
	conn       target // nil without a connection
}

const (
	// atOnce is the number of runs whose events are sent concurrently.
	atOnce = 16
	// inHand is the maximum number of events that are sent before the position of the sink moves. An event that is not accepted keeps at most so many
	// others from being recorded as sent.
	inHand = 500
)

// take sends events, the events of each run in their order. An error means that ctx ended.
func (d *delivery) take(ctx context.Context, all []Event) error {
	for some := range slices.Chunk(all, inHand) {
		if err := d.takeSome(ctx, some); err != nil {
			return err
		}
		d.move(some[len(some)-1].Position)
	}
	return nil
}

// takeSome sends events of several runs concurrently.
func (d *delivery) takeSome(ctx context.Context, some []Event) error {
	runs, order, oldest := map[string][]Event{}, []string{}, time.Time{}
	for _, e := range some {
		if !d.wants(&e) {
			continue
		}
		if runs[e.Run] == nil {
			order = append(order, e.Run)
		}
		runs[e.Run] = append(runs[e.Run], e)
		if oldest.IsZero() || e.At.Before(oldest) {
			oldest = e.At
		}
	}
	d.note(func(s *State) { s.Waiting = oldest })
	defer d.note(func(s *State) { s.Waiting = time.Time{} })
	sending, together := errgroup.WithContext(ctx)
	sending.SetLimit(d.atOnce())
	for _, run := range order {
		sending.Go(func() error {
			for _, e := range runs[run] {
				if err := d.deliver(together, e); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := sending.Wait(); err != nil {
		return err
	}
	return d.mustStoreDeadLetters(ctx)
}

// atOnce returns the number of runs whose events are sent concurrently: lines are written one after the other.
func (s *sink) atOnce() int {
	if s.to.Kind == "stdout" {
		return 1
	}
	return atOnce
}

// deliver sends an event until it is accepted, refused, or has been tried for too long.
func (d *delivery) deliver(ctx context.Context, e Event) error {
	began := time.Now()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if err := d.holds(); err != nil {
			return err
		}
		err := d.try(ctx, e)
		if err == nil {
			d.note(func(s *State) { s.Sent, s.Err = s.Sent+1, nil })
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		d.note(func(s *State) { s.Failed++; s.Err = err })
		if refused(err) || time.Since(began) >= d.to.GiveUpAfter {
			d.giveUp(e, err)
			return nil
		}
		d.Log.Warn("a sink does not take an event, which is tried again", "sink", d.to.Name, "event", e.ID, "error", err)
		rest(ctx, min(pause, max(d.to.GiveUpAfter-time.Since(began), time.Millisecond)))
	}
}

// try sends an event once.
func (d *delivery) try(ctx context.Context, e Event) error {
	ctx, cancel := context.WithTimeout(ctx, d.Within)
	defer cancel()
	conn, err := d.connect(ctx)
	if err != nil {
		return err
	}
	if err = conn.send(ctx, e); err != nil && !refused(err) {
		d.disconnect(conn)
	}
	return err
}

func (d *delivery) connect(ctx context.Context) (target, error) {
	d.connecting.Lock()
	defer d.connecting.Unlock()
	if d.conn != nil {
		return d.conn, nil
	}
	conn, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	d.conn = conn
	return conn, nil
}

// disconnect closes a failed connection, also for its other users: their next attempts open another one.
func (d *delivery) disconnect(conn target) {
	d.connecting.Lock()
	defer d.connecting.Unlock()
	if d.conn == conn {
		conn.close()
		d.conn = nil
	}
}

func (d *delivery) close() {
	d.connecting.Lock()
	defer d.connecting.Unlock()
	if d.conn != nil {
		d.conn.close()
		d.conn = nil
	}
}
