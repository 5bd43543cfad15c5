package main

import (
	"context"
	"log/slog"
	"sync"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/storesocket"
	"github.com/swrun/swrun/server"
)

// This file answers other commands of the same user while this process holds the file of a store.

// answerOthers answers on the socket beside the file until stop is called, also while this process hands over. It does nothing for a store that is no
// file. In a process that does not work on all runs, perform receives the runs that other processes want to have performed.
func (p *program) answerOthers(ctx context.Context, of *openedStore, engine *swrun.Engine, log *slog.Logger, adapt func(*control.Control)) (stop func()) {
	at := of.url
	file, ok := swrun.StoreFile(at)
	if !ok {
		return func() {}
	}
	l, err := storesocket.Listen(ctx, file)
	if err != nil {
		log.Warn("other commands cannot use the store until this one ends", "store", at, "error", err)
		return func() {}
	}
	c := control.New(engine, of.Store, p.now)
	adapt(c)
	if p.secrets != nil {
		c.Secrets = p.secrets
	}
	s := server.New(server.Config{Control: c, Authorize: server.TrustOwner, AnyHost: true, Version: swrun.Version(), TellVersion: true, Log: log, Now: p.now})
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var answering sync.WaitGroup
	answering.Go(func() {
		if err := s.Serve(ctx, l); err != nil {
			log.Warn("other commands cannot use the store any more until this one ends", "store", at, "error", err)
		}
	})
	return func() { cancel(); answering.Wait() }
}
