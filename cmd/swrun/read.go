package main

import (
	"io"
	"os"
	"sync"
)

// Bounds of what is read into memory: the text of a document, and of an input, secrets or events.
const (
	maxDocument = 8 << 20
	maxText     = 64 << 20
	maxSecrets  = 1 << 20 // each spelling of each is looked for in all that is told
)

// readFile reads a file as a whole. Its size is not asked for: a device or a pipe tells none.
func readFile(what, name string, limit int) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fileError(what, err)
	}
	defer file.Close()
	text, err := readAll(file, name, limit)
	if err != nil {
		return nil, fileError(what, err)
	}
	return text, nil
}

// readAll reads at most limit bytes, and refuses what has more.
func readAll(r io.Reader, name string, limit int) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err == nil && len(text) > limit {
		return nil, usagef("", "%s is larger than %d MiB", name, limit>>20)
	}
	return text, err
}

// checkedWriter remembers the first error of writing, so that what could not be printed is never taken for printed.
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
