package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// account reads every run: it returns the number of runs that are not completed, and the number of effects that were committed twice, and calls late
// with each entry.
func (b *benchmark) account(ctx context.Context, late func(client.HistoryEntry)) (lost, duplicates int, err error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	next := make(chan store.Instance)
	for range 16 {
		group.Go(func() {
			for i := range next {
				l, twice, entries, bad := b.look(ctx, i)
				mu.Lock()
				if bad != nil && err == nil {
					err = bad
				}
				lost, duplicates = lost+l, duplicates+twice
				for _, e := range entries {
					late(e)
				}
				mu.Unlock()
			}
		})
	}
	for _, i := range b.runs {
		next <- i
	}
	close(next)
	group.Wait()
	return lost, duplicates, err
}

func (b *benchmark) look(ctx context.Context, i store.Instance) (lost, duplicates int, entries []client.HistoryEntry, err error) {
	l, err := b.Store.Load(ctx, i)
	if store.RefusedAs(err) == store.NoSuch {
		return 1, 0, nil, nil
	}
	if err != nil {
		return 0, 0, nil, err
	}
	if !l.Lifecycle.Status.Final() {
		lost = 1
	}
	seen := map[interpreter.Path]bool{}
	_, err = b.Client.History(ctx, i, 0, func(e client.HistoryEntry) error {
		entries = append(entries, e)
		for _, r := range e.Events {
			if r.Type != interpreter.EffectFinished {
				continue
			}
			if seen[r.Path] {
				duplicates++
			}
			seen[r.Path] = true
		}
		return nil
	})
	return lost, duplicates, entries, err
}

// abandoned is the maximum time for the cleanup of an interrupted bench.
const abandoned = time.Minute

// abandon ends and deletes the runs of an interrupted bench, so that they do not disturb the next one.
func (b *benchmark) abandon(ctx context.Context) {
	left := slices.DeleteFunc(b.runs, func(i store.Instance) bool { return i.ID == "" })
	if len(left) == 0 {
		return
	}
	fmt.Fprintf(b.Stderr, "interrupted: %s of bench are removed; another interrupt leaves them\n", terminal.Counted(len(left), "run"))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abandoned)
	defer cancel()
	client.ForEach(left, func(i store.Instance) error { return b.Client.Terminate(ctx, i, "bench was interrupted") })
	stop := b.work(ctx, worker.Config{Compile: b.compile(effortless), Concurrency: -1})
	defer stop()
	for len(left) > 0 && ctx.Err() == nil {
		refused := b.Client.DeleteAll(ctx, left)
		var again []store.Instance
		for n, i := range left {
			if store.RefusedAs(refused[n]) == store.Conflict {
				again = append(again, i) // it is still ending
			}
		}
		left = again
	}
}

// clean removes the runs of bench.
func (b *benchmark) clean(ctx context.Context) error {
	err := cmp.Or(b.Client.DeleteAll(ctx, b.runs)...)
	b.runs = nil
	return err
}
