package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// TestDamagedActivityAndAnotherNamespace: the repair of a damaged activity leaves an activity of a run with the same id in another namespace in its queue.
func TestDamagedActivityAndAnotherNamespace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	h := &hosted{t, "file:" + path}
	text := strings.Replace(outsideText, "startToClose: PT1M", "scheduleToStart: PT1H", 1)
	var namespaces []string
	for _, namespace := range []string{"a", "b", "c", "d", "e"} { // two of these are in one of the four partitions
		h.exits(exitOK, "deploy", mustWriteFile(t, "outside.yaml", strings.Replace(text, "namespace: demo", "namespace: "+namespace, 1)))
		namespaces = append(namespaces, namespace)
	}
	stop := working(t, capture(map[string]string{"SWRUN_STORE": h.url}))
	for _, namespace := range namespaces {
		h.exits(exitOK, "start", namespace+"/outside", "--id", "x")
		h.until("waits for an outside worker", "describe", namespace+"/x")
	}
	stop()
	changeEntries(t, path, func(b *bbolt.Bucket) error {
		var keys [][]byte
		err := b.ForEach(func(key, _ []byte) error {
			if bytes.Contains(key, []byte("/x/activity/")) {
				keys = append(keys, bytes.Clone(key))
			}
			return nil
		})
		for _, key := range keys[:len(keys)-1] { // the last one is intact
			if err == nil {
				err = b.Put(key, []byte("rubbish"))
			}
		}
		return err
	})
	h.exits(exitOK, "repair")
	contains(t, h.exits(exitOK, "queue", "ls"), "images")
	s := h.listening("serve", "--listen", "127.0.0.1:0")
	for range namespaces {
		h.taken(s)
	}
}
