package tasks_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/swrun/swrun/tasks"
)

func TestLoader(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "schema.json"), []byte("local"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/large":
			_, _ = w.Write(make([]byte, 5<<20))
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = w.Write([]byte("remote " + r.URL.Path))
		}
	}))
	defer server.Close()
	document := filepath.Join(folder, "workflow.yaml")
	for _, c := range []struct {
		name, document, reference string
		files                     bool
		want, wantErr             string
	}{
		{"beside the document", document, "schema.json", true, "local", ""},
		{"by file URI", document, "file://" + folder + "/schema.json", true, "local", ""},
		{"by http", document, server.URL + "/a", true, "remote /a", ""},
		{"relative to a remote document", server.URL + "/dir/workflow.yaml", "b.json", false, "remote /dir/b.json", ""},
		{"no files on a server", document, "schema.json", false, "", "may not be read"},
		{"no folder", document, ".", true, "", "no regular file"},
		{"a missing file", document, "nothing.json", true, "", "no such file"},
		{"an error answer", document, server.URL + "/missing", true, "", "404"},
		{"too large", document, server.URL + "/large", true, "", "larger than"},
		{"another scheme", document, "ftp://example.com/x", true, "", `"ftp"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := tasks.Loader(c.document, nil, c.files)(c.reference)
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("got %q, %v; want an error with %q", got, err, c.wantErr)
				}
				return
			}
			if err != nil || string(got) != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}
