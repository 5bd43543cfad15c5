package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/limits"
)

// endless is a stream that counts the bytes that are read from it.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	e.read += len(b)
	clear(b)
	return len(b), nil
}

// TestNoMoreIsReadThanMayBe: of an endless stream, one byte more than allowed is read; a file of that size is refused in the same way.
func TestNoMoreIsReadThanMayBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 1<<30); err != nil { // it uses no space on the disk
		t.Fatal(err)
	}
	input := func(form string) func(*program) error {
		return func(p *program) error {
			bounds, err := p.limits(nil)
			if err != nil {
				return err
			}
			_, err = readInput(p.streams, []string{form}, bounds)
			return err
		}
	}
	for _, c := range []struct {
		name, bounds string
		read         func(*program) error
		most         int // 0 if it is not a stream
		want         string
	}{
		{"an input that is a stream", "", input("-"), 4 << 20, "standard input is larger than 4 MiB (limit input)"},
		{"an input with another limit", "input=1KiB", input("-"), 1 << 10, "standard input is larger than 1024 bytes (limit input)"},
		{"an input", "", input("@" + file), 0, file + " is larger than 4 MiB (limit input)"},
		{"events", "", func(p *program) error { _, err := eventFile(file); return err }, 0, file + " is larger than 4 MiB"},
		{"secrets", "", func(p *program) error { _, err := readSecrets(p.env, file); return err }, 0, file + " is larger than 1 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := &endless{}
			err := c.read(&program{streams: streams{in: in, env: func(name string) (string, bool) { return c.bounds, name == limitsVariable }}})
			if err == nil || err.Error() != c.want || err.(*exitError).code != exitUsage {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if c.most > 0 && in.read != c.most+1 {
				t.Errorf("%d bytes were read, of at most %d", in.read, c.most)
			}
		})
	}
}

// TestNoMoreOfADocumentIsRead: no more of a document is read than is needed to see that it is too large.
func TestNoMoreOfADocumentIsRead(t *testing.T) {
	in := &endless{}
	d, err := loadDocument(streams{in: in}, "-")
	if err != nil || d.Diagnostics[0].Code != "SW104" || in.read != source.MaxSize+1 {
		t.Errorf("%d bytes were read: %v, %v", in.read, err, d)
	}
}

// TestInputOfItsLimit: an input of the maximum size is read.
func TestInputOfItsLimit(t *testing.T) {
	text := `{"a":"` + strings.Repeat("x", 1000) + `"}`
	for max, ok := range map[int]bool{len(text): true, len(text) - 1: false} {
		if _, err := readInput(streams{in: strings.NewReader(text)}, []string{"-"}, limits.Set{limits.Input: max}); (err == nil) != ok {
			t.Errorf("%d bytes of at most %d: %v", len(text), max, err)
		}
	}
}
