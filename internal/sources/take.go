package sources

import (
	"cmp"
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// atOnce is the maximum number of events of a source that are published concurrently.
const atOnce = 16

// received is a message with its events.
type received struct {
	message
	events []map[string]any
	err    error // the reason why the events cannot be read
	done   bool  // they are stored, or set aside
	failed error // it could not be set aside
}

// take publishes messages, and acknowledges the first ones until one is neither stored nor set aside: all of them, unless ctx ends before.
func (f *feed) take(ctx context.Context, b broker, all []message) error {
	messages := make([]*received, len(all))
	for n, m := range all {
		r := &received{message: m, err: m.broken}
		if r.err == nil {
			r.events, r.err = m.Events()
		}
		messages[n] = r
	}
	var lines errgroup.Group
	lines.SetLimit(atOnce)
	for _, line := range inLines(messages) {
		lines.Go(func() error {
			for _, r := range line {
				if r.done = f.accept(ctx, b, r); !r.done {
					break
				}
			}
			return nil
		})
	}
	lines.Wait() // none fails
	done := 0
	for done < len(messages) && messages[done].done {
		done++
	}
	var failed error
	if done < len(messages) {
		failed = messages[done].failed
	}
	if done == 0 {
		return failed
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackWithin)
	defer cancel()
	return cmp.Or(b.acknowledge(within, all[:done]), failed)
}

// inLines splits messages into lines that are published in order: each with the events of the same line. If a message contains events of several
// lines, there is one line for all.
func inLines(all []*received) (lines [][]*received) {
	at := map[string]int{}
	for _, r := range all {
		name := ""
		for n, event := range r.events {
			switch of := lineOf(event); {
			case n == 0:
				name = of
			case of != name:
				return [][]*received{all}
			}
		}
		n, is := at[name]
		if !is {
			n, lines = len(lines), append(lines, nil)
			at[name] = n
		}
		lines[n] = append(lines[n], r)
	}
	return lines
}

// lineOf names the events that an event must not overtake: those with the same source and the same `partitionkey`, an extension of CloudEvents for
// this purpose; without it, with the same source and subject.
func lineOf(event map[string]any) string {
	within, ok := event["partitionkey"]
	if !ok {
		within = event["subject"]
	}
	return fmt.Sprintf("%q %q", event["source"], within)
}

// accept publishes the events of a message. It returns false only if ctx ends before, or if the message can neither be published nor kept.
func (f *feed) accept(ctx context.Context, b broker, r *received) bool {
	if r.err != nil {
		r.failed = f.setAside(ctx, b, r.message, r.err)
		return r.failed == nil
	}
	var refused error
	for n, event := range r.events {
		switch err := f.publish(ctx, event); {
		case ctx.Err() != nil && err != nil:
			return false
		case err != nil:
			refused = cmp.Or(refused, fmt.Errorf("event %d: %w", n+1, err))
		default:
			f.note(func(s *State) { s.Accepted++ })
		}
	}
	if refused != nil {
		r.failed = f.setAside(ctx, b, r.message, refused)
	}
	return r.failed == nil
}
