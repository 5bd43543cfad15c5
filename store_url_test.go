package swrun_test

import (
	"path/filepath"
	"testing"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/boltstore"
	"github.com/swrun/swrun/errors"
)

// TestURLsOfFiles: a URL with a host, or without a file, opens no file of another name.
func TestURLsOfFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, at := range []string{"file:", "file:  ", "file://runs.db", "file://localhost/runs.db", "file:runs.db?mode=ro", "file:runs.db#a", "runs.db", ""} {
		s, err := swrun.OpenStore(t.Context(), at, swrun.StoreConfig{})
		var wrong *swrun.StoreURLError
		if !errors.As(err, &wrong) {
			t.Errorf("%q: %v", at, err)
		}
		if err == nil {
			s.Close()
		}
	}
	if found, _ := filepath.Glob("*"); len(found) > 0 {
		t.Errorf("%q were made", found)
	}
	for _, at := range []string{"file:runs.db", "file:" + filepath.Join(t.TempDir(), "a b.db"), "file://" + filepath.Join(t.TempDir(), "runs.db")} {
		s, err := swrun.OpenStore(t.Context(), at, swrun.StoreConfig{})
		if err != nil {
			t.Errorf("%q: %v", at, err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestWorkOnAClosedStore: work on a closed store ends with an error that names the cause.
func TestWorkOnAClosedStore(t *testing.T) {
	s, err := swrun.OpenStore(t.Context(), "file:"+filepath.Join(t.TempDir(), "runs.db"), swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := swrun.NewEngine(s, swrun.EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var closed *boltstore.ClosedError
	if err := engine.Work(t.Context()); !errors.As(err, &closed) {
		t.Errorf("Work: %v", err)
	}
	if _, err := engine.Start(t.Context(), "demo/a", nil, swrun.StartOptions{}); !errors.As(err, &closed) {
		t.Errorf("Start: %v", err)
	}
}
