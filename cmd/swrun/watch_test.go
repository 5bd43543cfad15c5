package main

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
)

func TestTheFirstSignalCancelsAndTheSecondIsNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 1)
		released := 0
		p := &program{streams: streams{signals: func() (<-chan os.Signal, func()) { return signals, func() { released++ } }}}
		ctx, interrupted, stop := p.interruptible()
		if interrupted() != nil {
			t.Error("interrupted before any signal")
		}
		signals <- syscall.SIGTERM
		<-ctx.Done()
		if released != 1 {
			t.Error("signals are still held, so that a second one could not end the process")
		}
		if got := interrupted(); got != syscall.SIGTERM {
			t.Errorf("got %v, want SIGTERM", got)
		}
		stop()
	})
}

func TestWithoutSignalsNothingIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &program{streams: streams{signals: func() (<-chan os.Signal, func()) { return make(chan os.Signal), func() {} }}}
		ctx, interrupted, stop := p.interruptible()
		stop()
		if ctx.Err() == nil || interrupted() != nil {
			t.Errorf("context: %v, signal: %v", ctx.Err(), interrupted())
		}
	})
}
