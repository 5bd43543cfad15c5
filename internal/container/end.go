package container

import (
	"bufio"
	"bytes"
	"context"
	"errors"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// End describes the end of a container.
type End struct {
	ExitCode       int
	Stdout, Stderr []byte
}

// LimitError reports that a stream of the container exceeded its maximum length.
type LimitError struct{ Stream string }

func (e *LimitError) Error() string { return e.Stream + " is too long" }

// wait waits for the end of the container.
func (r *running) wait(ctx context.Context) (code int, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	wait := r.client.ContainerWait(ctx, r.id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	select {
	case end := <-wait.Result:
		r.ended = true
		if end.Error != nil {
			return 0, &UnreachableError{"the container engine has lost the container: " + short(end.Error.Message)}
		}
		return int(end.StatusCode), nil
	case err := <-wait.Error:
		return 0, failed("it is not known how the container of "+r.job.Image+" has ended", err)
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// logged returns the output of the ended container from its log, of which the attached stream gave a part.
func (r *running) logged(ctx context.Context, part *output) (*output, error) {
	const remedy = "; let the container read its whole input, or give the engine a log that keeps the whole output"
	return ask(ctx, func(ctx context.Context) (*output, error) {
		whole := newOutput(r.job.MaxOutput, false)
		log, err := r.streams.ContainerLogs(ctx, r.id, client.ContainerLogsOptions{ShowStdout: true, ShowStderr: true})
		if err == nil {
			defer log.Close()
			err = whole.split(bufio.NewReader(log))
		}
		if _, limit := errors.AsType[*LimitError](err); limit {
			return &whole, err
		}
		if err == nil && !bytes.HasPrefix(whole.stdout.data.Bytes(), part.stdout.data.Bytes()) {
			err = errors.New("its beginning was removed")
		}
		if err != nil {
			err = &UnreachableError{"the output of the container was cut off, and its log cannot be read: " + short(err.Error()) + remedy}
		}
		return &whole, err
	})
}
