package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/swrun/swrun/runtime/store"
)

// TestVerbsOnWhatIsNoStore: if a path contains something else than a store, each verb reports it in one message, with exit code 7.
func TestVerbsOnWhatIsNoStore(t *testing.T) {
	document := mustWriteFile(t, "nap.yaml", napText)
	whole := filledStore(t, document)
	write := func(data []byte) func(string) error {
		return func(path string) error { return os.WriteFile(path, data, 0o600) }
	}
	for name, make := range map[string]func(path string) error{
		"cut":            write(whole[:9000]),
		"cut to a page":  write(whole[:4096]),
		"text":           write(bytes.Repeat([]byte("hello world\n"), 2000)),
		"flipped":        write(flipped(whole)),
		"another schema": func(path string) error { return outdated(path, whole) },
		"a folder":       func(path string) error { return os.Mkdir(path, 0o700) },
		"a loop":         func(path string) error { return os.Symlink(path, path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "store.db")
			if err := make(path); err != nil {
				t.Fatal(err)
			}
			everyVerbRefuses(t, document, path)
		})
	}
}

// everyVerbRefuses tries all verbs that need a store.
func everyVerbRefuses(t *testing.T, document, path string) {
	given := map[string]bool{"bench": true} // it measures beside the store
	sum := sha256.Sum256([]byte("{}"))
	export := mustWriteFile(t, "export.json", fmt.Sprintf(`{"schema": "swrun/v1/export", "stored": {"sha256": "%x", "data": "e30="}}`, sum))
	function := mustWriteFile(t, "function.yaml", "set: {a: 1}\n")
	for _, verb := range []string{
		"ls", "describe a", "history a", "output a", "wait a", "deadlines", "start demo/nap", "deploy DOCUMENT", "run DOCUMENT --id a", "worker", "serve", "dev", "workers", "workflows", "config ls", "config set runTimeout=1h",
		"deadline set a +1m", "fork a", "migrate a --to latest", "export a", "import EXPORT", "repair", "trouble ls", "queue ls", "queue pause a", "queue limit a --rate 1/s", "queue resume a",
		"function ls", "function show a:1.0.0", "function rm a:1.0.0", "function deploy a:1.0.0 FUNCTION", "token ls", "token revoke a", "token new a --role viewer -n a",
		"cancel a", "terminate a", "suspend a", "resume a", "retry a", "delete a", "cancel --where status=waiting", "doctor",
	} {
		name, _, _ := strings.Cut(verb, " ")
		given[name] = true
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			c := capture(map[string]string{"SWRUN_STORE": "file:" + path})
			args := strings.Fields(strings.NewReplacer("DOCUMENT", document, "EXPORT", export, "FUNCTION", function).Replace(verb))
			code := run(args, c.streams)
			told := c.stdout.String() + c.stderr.String()
			if code != exitStore || strings.Count(told, path) == 0 || strings.Contains(told, "goroutine") || strings.Count(told, "\n") > 3 {
				t.Errorf("it ended with %d, and said\n%s", code, told)
			}
		})
	}
	if missing := missingVerbs(given, opensStore); len(missing) > 0 {
		t.Errorf("not tried: %q", missing)
	}
}

// filledStore returns the content of a file with a run.
func filledStore(t *testing.T, document string) []byte {
	path := filepath.Join(t.TempDir(), "good.db")
	h := &hosted{t, "file:" + path}
	h.exits(exitOK, "deploy", document)
	h.exits(exitOK, "start", "demo/nap", "--id", "a")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// flipped returns a file whose pages have a wrong type, except for the first two, which identify the file.
func flipped(whole []byte) []byte {
	data := bytes.Clone(whole)
	for page := 2 * 4096; page < len(data); page += 4096 {
		for n := range 40 {
			data[page+n] ^= 0xff
		}
	}
	return data
}

// outdated writes a store of another version of swrun.
func outdated(path string, whole []byte) error {
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		return err
	}
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		return err
	}
	defer db.Close() // the data is already written
	return db.Update(func(tx *bbolt.Tx) error {
		b, key := tx.Bucket([]byte("swrun")), []byte("layout")
		now, before := fmt.Appendf(nil, `"Schema":%d`, store.Schema), fmt.Appendf(nil, `"Schema":%d`, store.Schema-1)
		if !bytes.Contains(b.Get(key), now) {
			return fmt.Errorf("the layout %s does not say %s", b.Get(key), now)
		}
		return b.Put(key, bytes.Replace(b.Get(key), now, before, 1))
	})
}
