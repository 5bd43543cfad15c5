package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/swrun/swrun/runtime/client"
)

// hangups delivers SIGHUP until its second result is called. A process that was started from a terminal gets none: there, SIGHUP means that the
// terminal is gone, and is one of the interrupts.
func hangups() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 1)
	if !hasTerminal() {
		signal.Notify(c, syscall.SIGHUP)
	}
	return c, func() { signal.Stop(c) }
}

// hasTerminal reports whether a terminal controls this process.
func hasTerminal() bool {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	_ = terminal.Close() // it was only looked for
	return true
}

// reloads returns a function that calls reload for each SIGHUP, until ctx ends. From now on the signal does not end this process.
func (o *operation) reloads(ctx context.Context, reload func(context.Context)) func() error {
	if o.hangups == nil {
		return func() error { return nil }
	}
	signals, release := o.hangups()
	return func() error {
		defer release()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-signals:
				reload(ctx)
			}
		}
	}
}

// reload reads the folders and the secrets of serve again.
func (f *serveFlags) reload(ctx context.Context) {
	if f.served == nil {
		f.log.Info("SIGHUP: the secrets are read again; changes in the folder are deployed without it")
		f.rereads.reread()
		return
	}
	f.log.Info("SIGHUP: the folders and the secrets are read again")
	f.rereads.reread()
	if err := f.served.deploy(client.WithActor(ctx, f.served.folderActor())); err != nil && ctx.Err() == nil {
		f.log.Warn("the folders could not be read again", "error", err)
	}
}
