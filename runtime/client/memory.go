package client

import (
	"context"

	"github.com/swrun/swrun/internal/jsonvalue"
	"github.com/swrun/swrun/runtime/store"
)

// Memory limits the memory for the stored data that one caller processes. The argument of its methods is the total number of bytes that the
// caller then holds.
type Memory interface {
	// Holds reserves memory without waiting, and reports whether enough was available.
	Holds(bytes int64) bool
	// Await reserves memory as soon as enough is available. It returns an error if enough memory cannot become available.
	Await(bytes int64) error
}

// WithMemory returns a context in which stored data of runs is decoded only when m has reserved memory for it. Nil bounds nothing.
func WithMemory(ctx context.Context, m Memory) context.Context {
	return context.WithValue(ctx, memoryKey{}, m)
}

type memoryKey struct{}

func memoryOf(ctx context.Context) Memory {
	m, _ := ctx.Value(memoryKey{}).(Memory)
	return m
}

const (
	// smallText is how many bytes of stored data may be decoded without a reservation.
	smallText = 32 << 10
	// ofStored is how many bytes each byte of stored data takes besides its value: as it was read, as it is written for the caller, and the
	// garbage of both.
	ofStored = 3
)

// sizeOf returns how much memory stored data takes when it becomes values; 0 if that is little.
func sizeOf(texts ...[]byte) (bytes int64) {
	length := 0
	for _, text := range texts {
		length += len(text)
	}
	if length <= smallText {
		return 0
	}
	for _, text := range texts {
		bytes += int64(jsonvalue.Size(text) + ofStored*len(text))
	}
	return bytes
}

// sizeOfRun returns the same of all that is stored of a run but its history.
func sizeOfRun(l store.Loaded) int64 {
	texts := [][]byte{l.Invocation, l.State.Head, l.State.Context}
	for _, frame := range l.State.Frames {
		texts = append(texts, frame)
	}
	return sizeOf(texts...)
}

// loadHeld loads a run when there is memory for its values.
func (c *Client) loadHeld(ctx context.Context, i store.Instance) (store.Loaded, error) {
	l, err := c.store.Load(ctx, i)
	if err != nil {
		return l, err
	}
	return c.held(ctx, i, l)
}

// held returns a loaded run when there is memory for its values. If it had to wait, it loads the run again, since the run is not held
// during the wait.
func (c *Client) held(ctx context.Context, i store.Instance, l store.Loaded) (store.Loaded, error) {
	m := memoryOf(ctx)
	for m != nil {
		size := sizeOfRun(l)
		if size == 0 || m.Holds(size) {
			break
		}
		l = store.Loaded{}
		err := m.Await(size)
		if err == nil {
			l, err = c.store.Load(ctx, i)
		}
		if err != nil {
			return store.Loaded{}, err
		}
	}
	return l, nil
}

// reading counts the data of a history that is read for one caller.
type reading struct {
	memory Memory // nil bounds nothing
	bytes  int64
}

// add returns an error if there is no memory for further data.
func (r *reading) add(text []byte) error {
	if r.memory == nil {
		return nil
	}
	r.bytes += int64(jsonvalue.Size(text) + ofStored*len(text))
	if r.bytes <= smallText || r.memory.Holds(r.bytes) {
		return nil
	}
	return r.memory.Await(r.bytes)
}

// hold returns an error if there is no memory for the value of a text, which is dropped before the next one is read.
func hold(ctx context.Context, text []byte) error {
	m, size := memoryOf(ctx), sizeOf(text)
	if m == nil || size == 0 || m.Holds(size) {
		return nil
	}
	return m.Await(size)
}
