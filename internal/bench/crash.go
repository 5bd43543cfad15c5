package bench

import (
	"context"

	"github.com/swrun/swrun/errors"

	"fmt"
	"os"
	"os/exec"
	"time"
)

// WorkerVariable is the environment variable with which this program starts itself as a worker: see Work.
const WorkerVariable = "SWRUN_BENCH_WORKER"

// ErrEmbedded is the reason why crash cannot be measured.
var ErrEmbedded = errors.New("an embedded store is open in one process only, which cannot be killed and go on measuring")

func (b *benchmark) crash(ctx context.Context) (*Measured, error) {
	if b.Store.Local() {
		return nil, ErrEmbedded
	}
	m := &Measured{Runs: b.of(2000)}
	before, err := b.startSteps(ctx, m.Runs)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	first, err := b.spawn()
	if err != nil {
		return nil, err
	}
	if err := b.closed(ctx, before, m.Runs/2, time.Minute); err != nil {
		return nil, err
	}
	first.Process.Kill() // the process exists, because it has just worked
	_ = first.Wait()     // it was killed
	killed := time.Now()
	time.Sleep(time.Second)
	second, err := b.spawn()
	if err != nil {
		return nil, err
	}
	err = b.closed(ctx, before, m.Runs, 5*time.Minute)
	m.Recovery = time.Since(killed).Seconds() - 1
	m.took(time.Since(began), m.Runs*stepsPerRun)
	second.Process.Kill() // its work is done
	_ = second.Wait()
	if err != nil {
		return nil, err
	}
	var took []time.Duration
	m.Lost, m.Duplicates, err = b.account(ctx, gaps(&took))
	m.durations(stepTook, took)
	return m, err
}

// spawn starts this program as a worker of bench.
func (b *benchmark) spawn() (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.Command(self, "bench", "worker", "--concurrency", fmt.Sprint(b.Concurrency))
	c.Env = append(os.Environ(), WorkerVariable+"=1", "SWRUN_STORE="+b.Store.URL()) // the URL may contain a password
	c.Stderr = b.Stderr
	return c, c.Start()
}
