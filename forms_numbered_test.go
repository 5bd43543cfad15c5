package swrun_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/internal/golden"
)

// TestFormsAreNumbered: the data that this build writes has the members that are listed for its forms. A new member needs a new number.
func TestFormsAreNumbered(t *testing.T) {
	file := filepath.Join(t.TempDir(), "store.db")
	s := must(swrun.OpenStore(t.Context(), "file:"+file, swrun.StoreConfig{}))
	writeStore(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	written := shapesOf(t, file)
	list := filepath.Join("testdata", "stores", "forms.txt")
	known := map[string]bool{}
	if data, err := os.ReadFile(list); err == nil {
		for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
			known[line] = true
		}
	}
	for line := range written {
		if !known[line] && !golden.Update() {
			t.Errorf("%q is in none of the lists of testdata/stores/forms.txt: give the form of the %s the next number (internal/form, or RegistryKind.Form), "+
				"run this test and TestGoldenStores with -update, and read docs/decisions/0059", line, strings.Fields(line)[0])
		}
		known[line] = true
	}
	if golden.Update() {
		if err := os.WriteFile(list, []byte(strings.Join(slices.Sorted(maps.Keys(known)), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// shapesOf returns a line for each member of the data in a file: kind, form, and path.
func shapesOf(t *testing.T, file string) map[string]bool {
	t.Helper()
	lines := map[string]bool{}
	db := must(bbolt.Open(file, 0o600, &bbolt.Options{ReadOnly: true}))
	defer db.Close()
	err := db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("swrun")).ForEach(func(key, value []byte) error {
			kind, number, data := partsOf(string(key), string(value))
			if kind != "" {
				addShape(lines, kind+" "+number, data)
			}
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// partsOf returns the kind of the data under a key, the number of its form, and its data with the shape of that form.
func partsOf(key, value string) (kind, number string, data any) {
	parse := func(text string) (number string, data any) {
		object := map[string]any{}
		if json.Unmarshal([]byte(text), &object) != nil {
			return "?", nil
		}
		number = fmt.Sprint(object[form.Member()])
		delete(object, form.Member())
		return number, object
	}
	path := strings.Split(key, "/")
	switch {
	case path[0] == "definition" && path[1] == "digest":
		number, data = parse(value)
		return "definition", number, data
	case path[0] == "registry":
		parts := strings.SplitN(value, " ", 4)
		_ = json.Unmarshal([]byte(parts[3]), &data)
		return "entry-of-" + path[1], parts[2], data
	case len(path) > 5 && path[2] == "i":
		return partsOfRun(path[5], value, parse)
	}
	return "", "", nil
}

func partsOfRun(part, value string, parse func(string) (string, any)) (kind, number string, data any) {
	switch part {
	case "record":
		fields := strings.Fields(value)
		return "record", fields[0], fmt.Sprintf("%d fields", len(fields))
	case "info":
		number, data = parse(value)
		return "invocation", number, data
	case "head", "frame":
		number, data = parse(value)
		return "state-" + part, number, data
	case "history":
		number, data = parse(strings.SplitN(value, " ", 4)[3])
		return "history", number, data
	case "inbox":
		number, data = parse(value)
		return "message", number, data
	case "activity":
		parts := strings.SplitN(value, " ", 5)
		_, data = parse(parts[4])
		return "activity", parts[0], data
	}
	return "", "", nil
}

// addShape adds the paths of a value. It omits data of workflows and of people.
func addShape(lines map[string]bool, path string, data any) {
	switch data := data.(type) {
	case map[string]any:
		for name, value := range data {
			switch {
			case strings.HasPrefix(path, "invocation") && (name == "i" || name == "l"), strings.HasPrefix(path, "history") && name == "d", name == "input", name == "result":
				lines[path+" ."+name] = true
			default:
				addShape(lines, path+" ."+name, value)
			}
		}
	case []any:
		for _, value := range data {
			addShape(lines, path+" []", value)
		}
	case string:
		if strings.HasSuffix(data, " fields") {
			lines[path+" "+data] = true
			return
		}
		lines[path] = true
	default:
		lines[path] = true
	}
}
