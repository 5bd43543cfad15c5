package tasks_test

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/pacetest"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/process/processtest"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/tasks"
)

// TestDefaultCatalog: the catalog is a folder from which no reference leads out, or a URL, even if other files may not be read.
func TestDefaultCatalog(t *testing.T) {
	folder, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	at := filepath.Join(folder, "functions", "f", "1.0.0")
	if err := os.MkdirAll(filepath.Join(at, "function.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{filepath.Join(at, "a.yaml"): "local", elsewhere: "secret"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(elsewhere, filepath.Join(at, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(at, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("remote " + r.URL.Path)) }))
	defer server.Close()
	for _, c := range []struct{ catalog, reference, want, wantErr string }{
		{folder, "catalog:/functions/f/1.0.0/a.yaml", "local", ""},
		{server.URL + "/c/", "catalog:/functions/f/1.0.0/a.yaml", "remote /c/functions/f/1.0.0/a.yaml", ""},
		{"", "catalog:/functions/f/1.0.0/a.yaml", "", "there is no default catalog here"},
		{folder, "catalog:/functions/f/1.0.0/function.yaml", "", "not a regular file"},
		{folder, "catalog:/functions/f/1.0.0/link", "", "escapes"},
		{folder, "catalog:/functions/f/1.0.0/pipe", "", "not a regular file"},
		{folder, "catalog:/../../../../../etc/passwd", "", "no such file"},
		{folder, "catalog:/", "", "empty path"},
		{filepath.Join(folder, "none"), "catalog:/a", "", "no such file"},
		{folder, "file://" + at + "/a.yaml", "", "files may not be read"},
	} {
		load := tasks.Loader("workflow.yaml", tasks.Sources{Transport: http.DefaultTransport, Catalog: c.catalog})
		checkLoad(t, load, loading{c.reference, c.want, c.wantErr})
	}
}

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
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	document := filepath.Join(folder, "workflow.yaml")
	for _, c := range []struct {
		name, document, reference string
		files                     bool
		want, wantErr             string
	}{
		{"beside the document", document, "schema.json", true, "local", ""},
		{"by file URI", document, "file://" + folder + "/schema.json", true, "local", ""},
		{"by file URI with a relative path", document, "file://schema.json", true, "local", ""},
		{"by file URI with a longer relative path", document, "file://none/../schema.json", true, "local", ""},
		{"by file URI without slashes", document, "file:schema.json", true, "local", ""},
		{"by file URI of this machine", document, "file://localhost" + folder + "/schema.json", true, "local", ""},
		{"by file URI out of the folder", document, "file://../schema.json", true, "", "leads out of the folder"},
		{"by file URI out of the folder on the way", document, "file://a/../../schema.json", true, "", "leads out of the folder"},
		{"by file URI that is nothing", document, "file://", true, "", "no such file"},
		{"by file URI of a remote document", server.URL + "/dir/workflow.yaml", "file://b.json", false, "remote /dir/b.json", ""},
		{"by http", document, server.URL + "/a", true, "remote /a", ""},
		{"relative to a remote document", server.URL + "/dir/workflow.yaml", "b.json", false, "remote /dir/b.json", ""},
		{"no files on a server", document, "schema.json", false, "", "may not be read"},
		{"no folder", document, ".", true, "", "not a regular file"},
		{"a device", document, "/dev/zero", true, "", "not a regular file"},
		{"a pipe that nobody writes into", document, "pipe", true, "", "not a regular file"},
		{"a secret of a server", document, "file:///etc/passwd", false, "", "may not be read"},
		{"a secret of a server, by its parents", server.URL + "/dir/workflow.yaml", "file:../../etc/passwd", false, "", "may not be read"},
		{"the environment of a server", document, "/proc/self/environ", false, "", "may not be read"},
		{"a missing file", document, "nothing.json", true, "", "no such file"},
		{"an error answer", document, server.URL + "/missing", true, "", "404"},
		{"too large", document, server.URL + "/large", true, "", "larger than"},
		{"another scheme", document, "ftp://example.com/x", true, "", `"ftp"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := tasks.Loader(c.document, tasks.Sources{Transport: http.DefaultTransport, Files: c.files})(t.Context(), c.reference)
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("got %q, %v; want an error with %q", got, err, c.wantErr)
				}
				return
			}
			if err != nil || string(got.Data) != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// silent is a transport to a server that takes every connection and never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestLoadingHasABound: loading ends in time if a server never answers, for one resource and for many resources.
func TestLoadingHasABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		load := tasks.Loader("workflow.yaml", tasks.Sources{Transport: silent{}, Files: true})
		if _, err := load(t.Context(), "http://silent.test/script.js"); err == nil || !strings.Contains(err.Error(), "within 10s") {
			t.Errorf("got %v", err)
		}
		document := header
		for i := range 100 {
			document += fmt.Sprintf("  - t%d: { run: { script: { language: js, source: { endpoint: 'http://silent.test/%[1]d.js' } } } }\n", i)
		}
		w, found := dsl.Parse("t.yaml", []byte(document))
		if err := found.Err(); err != nil {
			t.Fatal(err)
		}
		if _, found = interpreter.Compile(w, interpreter.Config{Kinds: tasks.All(tasks.Config{}), Load: load}); found.Err() == nil {
			t.Error("it compiles")
		}
		if took := time.Since(began); took > pacetest.Patience {
			t.Errorf("it took %s", took)
		}
	})
}

// TestLoaderWithoutTransport: it fetches nothing, and reports that; files are read.
func TestLoaderWithoutTransport(t *testing.T) {
	load := tasks.Loader("workflow.yaml", tasks.Sources{Files: true})
	if _, err := load(t.Context(), "https://example.com/schema.json"); !errors.Is(err, interpreter.ErrNotFetched) {
		t.Errorf("got %v, want ErrNotFetched", err)
	}
	if data, err := load(t.Context(), "load_test.go"); err != nil || len(data.Data) == 0 {
		t.Errorf("got %d bytes and %v, want this file", len(data.Data), err)
	}
}

// TestTimeoutCutsLoading: a script whose server takes the connection and never answers does not outlive its task.
func TestTimeoutCutsLoading(t *testing.T) {
	wantCut(t, "", "/do/0/work", func(url, after string) execution.Outcome {
		return runDocument(t, tasks.Config{Processes: processtest.Pool(t), Load: tasks.Loader("t.yaml", tasks.Sources{Transport: http.DefaultTransport})}, fmt.Sprintf(`  - work:
      run: { script: { language: js, source: { endpoint: '${ "%s/script.js" }' } } }
      timeout: { after: %s }
`, url, after))
	})
}

// TestDeployedFunctions: functions that the folder or URL of the default catalog lacks come from the deployed functions, each as a whole and in the
// state of the first reading. A catalog that does not answer may contain the function.
func TestDeployedFunctions(t *testing.T) {
	folder := t.TempDir()
	at := filepath.Join(folder, "functions", "both", "1.0.0")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(at, "function.yaml"), []byte("of the folder"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "broken") {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		http.FileServer(http.Dir(folder)).ServeHTTP(w, r)
	}))
	defer server.Close()
	reads := map[string]int{}
	deployed := func(_ context.Context, named string) (map[string][]byte, error) {
		reads[named]++
		switch named {
		case "none:1.0.0":
			return nil, fs.ErrNotExist
		case "damaged:1.0.0":
			return nil, errors.New("it cannot be read")
		}
		return map[string][]byte{"function.yaml": []byte("of the store"), "a/b.js": []byte("its script")}, nil
	}
	for _, catalog := range []string{"", folder, server.URL} {
		load := tasks.Loader("workflow.yaml", tasks.Sources{Transport: http.DefaultTransport, Catalog: catalog, Functions: deployed})
		for _, c := range []struct{ file, want, wantErr string }{
			{"own/1.0.0/function.yaml", "of the store", ""},
			{"own/1.0.0/a/b.js", "its script", ""},
			{"own/1.0.0/b.js", "", "the function own:1.0.0 has no file b.js"},
			{"none/1.0.0/function.yaml", "", "no function none:1.0.0 is deployed"},
			{"damaged/1.0.0/function.yaml", "", "it cannot be read"},
		} {
			checkLoad(t, load, loading{"catalog:/functions/" + c.file, c.want, c.wantErr})
		}
		if catalog != "" {
			checkLoad(t, load, loading{"catalog:/functions/both/1.0.0/function.yaml", "of the folder", ""})
			checkLoad(t, load, loading{"catalog:/functions/both/1.0.0/a/b.js", "", map[bool]string{true: "404", false: "no such file"}[catalog == server.URL]})
		}
		if reads["own:1.0.0"] != 1 || reads["both:1.0.0"] != 0 {
			t.Errorf("with %q, what is deployed was read %v times", catalog, reads)
		}
		clear(reads)
	}
	load := tasks.Loader("workflow.yaml", tasks.Sources{Transport: http.DefaultTransport, Catalog: server.URL, Functions: deployed})
	checkLoad(t, load, loading{"catalog:/functions/broken/1.0.0/function.yaml", "", "502"})
	unfetched := tasks.Loader("workflow.yaml", tasks.Sources{Catalog: server.URL, Functions: deployed})
	checkLoad(t, unfetched, loading{"catalog:/functions/own/1.0.0/function.yaml", "", interpreter.ErrNotFetched.Error()})
	for _, file := range []string{"x.yaml", "functions/own/function.yaml", "functions/own/1.0/function.yaml", "functions/../own/1.0.0/function.yaml"} {
		checkLoad(t, tasks.Loader("workflow.yaml", tasks.Sources{Functions: deployed}), loading{"catalog:/" + file, "", "there is no default catalog here"})
	}
}

// loading is a reference, and the expected content or error.
type loading struct{ reference, want, wantErr string }

func checkLoad(t *testing.T, load interpreter.Loader, c loading) {
	t.Helper()
	got, err := load(t.Context(), c.reference)
	if string(got.Data) != c.want || (err == nil) != (c.wantErr == "") || err != nil && !strings.Contains(err.Error(), c.wantErr) {
		t.Errorf("%s: %q, %v; want %q, %q", c.reference, got, err, c.want, c.wantErr)
	}
}
