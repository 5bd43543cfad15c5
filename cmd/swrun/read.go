package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/swrun/swrun/limits"
)

// bound is the maximum size of a file or a stream that is read into memory.
type bound struct {
	bytes int
	limit limits.Name // the limit that it comes from; empty for a fixed bound
}

// Fixed bounds, in bytes. The bound of a document is in dsl.ReadText.
const (
	maxSecrets = 1 << 20 // all output is searched for each spelling of each secret
	maxEvents  = 4 << 20
)

// readFile reads a whole file. It does not query the size: a device or a pipe has none.
func readFile(what, name string, b bound) ([]byte, error) {
	return readWhole(what, name, func(r io.Reader) ([]byte, error) { return b.read(r, name) })
}

func readWhole(what, name string, read func(io.Reader) ([]byte, error)) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fileError(what+" cannot be read", err)
	}
	defer file.Close()
	text, err := read(file)
	if err != nil {
		return nil, fileError(what+" cannot be read", err)
	}
	return text, nil
}

// read reads at most one byte more than allowed, and refuses longer contents.
func (b bound) read(r io.Reader, name string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(b.bytes)+1))
	switch {
	case err != nil || len(text) <= b.bytes:
		return text, err
	case b.limit == "":
		return nil, usagef("", "%s is larger than %s", name, limits.Bytes(b.bytes))
	}
	return nil, usagef(fmt.Sprintf("for example %s=%s=64MiB allows more", limitsVariable, b.limit), "%s is larger than %s (limit %s)", name, limits.Bytes(b.bytes), b.limit)
}

// checkedWriter remembers the first error of writing, so that failed output is never taken for printed.
type checkedWriter struct {
	w   io.Writer
	mu  sync.Mutex
	err error
}

func (c *checkedWriter) Write(text []byte) (int, error) {
	n, err := c.w.Write(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	return n, err
}
