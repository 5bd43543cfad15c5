package bench

import (
	"bytes"
	"context"
	"time"

	"github.com/swrun/swrun/redisstore"
)

// operations returns the number of commands that the store's servers have run; 0 if it is not known.
func (b *benchmark) operations(ctx context.Context) (int64, error) {
	s, ok := b.Store.Store.(*redisstore.Store)
	if !ok {
		return 0, nil
	}
	facts, err := s.Facts(ctx)
	return facts.Commands, err
}

// raw measures the number of bare scripts of six commands with 1 KB that the store runs a second; 0 for a store without scripts.
func (b *benchmark) raw(ctx context.Context) (float64, error) {
	s, ok := b.Store.Store.(*redisstore.Store)
	if !ok {
		return 0, nil
	}
	if err := b.rested(ctx); err != nil {
		return 0, err
	}
	return s.RawRate(ctx, bytes.Repeat([]byte("x"), 1000), time.Duration(float64(time.Second)*min(1, max(b.Size, 0.1))))
}

// rested waits up to ten seconds while the store's server rewrites its file because of the measurement before.
func (b *benchmark) rested(ctx context.Context) error {
	for range 100 {
		if facts, err := b.facts(ctx); err != nil || !facts.Saving {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

// memory returns the memory of the store's servers in bytes; 0 if it is not known.
func (b *benchmark) memory(ctx context.Context) (int64, error) {
	facts, err := b.facts(ctx)
	return facts.Memory, err
}

// facts returns the report of the store's server; nothing for other stores. It asks several times, because a server that rewrites its file may take
// seconds to answer.
func (b *benchmark) facts(ctx context.Context) (facts redisstore.Facts, err error) {
	s, ok := b.Store.Store.(*redisstore.Store)
	for tries := 0; ok && tries < 10 && ctx.Err() == nil; tries++ {
		if facts, err = s.Facts(ctx); err == nil {
			break
		}
	}
	return facts, err
}
