package function_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/function"
	"github.com/swrun/swrun/runtime/store"
)

func at() time.Time { return time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC) }

// mustDeploy deploys a function whose text is its name.
func mustDeploy(t *testing.T, f *function.Functions, named string) function.Deployed {
	t.Helper()
	d, _, err := f.Deploy(t.Context(), named, function.Files{function.File: []byte(named)}, "ada")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDeployed: a deployed function never changes, until it is removed.
func TestDeployed(t *testing.T) {
	f := function.New(memstore.New(memstore.Config{Partitions: 4}), at)
	files := function.Files{function.File: []byte("set: {a: 1}"), "a/b.js": {0, 0xff}}
	for n := range 2 {
		d, again, err := f.Deploy(t.Context(), "log:1.0.0", files, fmt.Sprint("caller ", n))
		want := function.Deployed{Name: "log", Version: "1.0.0", Digest: files.Digest(), Size: files.Size(), At: at(), By: "caller 0"}
		if err != nil || again != (n == 1) || d != want {
			t.Errorf("got %+v, %t, %v", d, again, err)
		}
	}
	for _, other := range []function.Files{
		{function.File: []byte("set: {a: 2}"), "a/b.js": {0, 0xff}}, {function.File: []byte("set: {a: 1}")}, {function.File: []byte("set: {a: 1}"), "a/b.ts": {0, 0xff}},
	} {
		if _, _, err := f.Deploy(t.Context(), "log:1.0.0", other, ""); store.RefusedAs(err) != store.Conflict {
			t.Errorf("another one: %v", err)
		}
	}
	_, got, err := f.Of(t.Context(), "log:1.0.0")
	if err != nil || got.Digest() != files.Digest() {
		t.Errorf("got %v, %v", got, err)
	}
	if err := f.Remove(t.Context(), "log:1.0.0"); err != nil {
		t.Error(err)
	}
	for _, named := range []string{"log:1.0.0", "", "a b", strings.Repeat("a", 1000)} {
		if err := f.Remove(t.Context(), named); store.RefusedAs(err) != store.NoSuch {
			t.Errorf("%.10q is removed: %v", named, err)
		}
		if _, err := f.Load(t.Context(), named); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%.10q is loaded: %v", named, err)
		}
	}
	mustDeploy(t, f, "log:1.0.0")
}

// TestDeployedAtOnce: of different functions that are deployed concurrently under one name, exactly one is deployed, and all others are
// refused.
func TestDeployedAtOnce(t *testing.T) {
	f := function.New(memstore.New(memstore.Config{Partitions: 4}), at)
	errs := make([]error, 20)
	var deploying sync.WaitGroup
	for n := range errs {
		deploying.Go(func() {
			_, _, errs[n] = f.Deploy(t.Context(), "log:1.0.0", function.Files{function.File: fmt.Append(nil, n)}, "")
		})
	}
	deploying.Wait()
	won := -1
	for n, err := range errs {
		switch {
		case err == nil && won < 0:
			won = n
		case store.RefusedAs(err) != store.Conflict:
			t.Errorf("%d: %v", n, err)
		}
	}
	if _, files, err := f.Of(t.Context(), "log:1.0.0"); err != nil || string(files[function.File]) != fmt.Sprint(won) {
		t.Errorf("%d has won, and %s is deployed, %v", won, files[function.File], err)
	}
}

// TestAll: functions are listed by name, the highest version first, however many there are.
func TestAll(t *testing.T) {
	f := function.New(memstore.New(memstore.Config{Partitions: 4}), at)
	for _, named := range []string{"b:1.9.0", "a:1.0.0", "b:1.10.0", "b:2.0.0-rc.1", "b:1.10.0+build"} {
		mustDeploy(t, f, named)
	}
	for n := range 70 {
		mustDeploy(t, f, fmt.Sprintf("c%02d:1.0.0", n))
	}
	all, err := f.All(t.Context())
	if err != nil || len(all) != 75 {
		t.Fatalf("%d are listed, %v", len(all), err)
	}
	var names []string
	for _, d := range all[:5] {
		names = append(names, d.String())
	}
	if got := strings.Join(names, " "); got != "a:1.0.0 b:1.10.0 b:1.10.0+build b:1.9.0 b:2.0.0-rc.1" {
		t.Error(got)
	}
}

// TestDamaged: a damaged entry is reported as such everywhere, and other entries are still found. It can be removed.
func TestDamaged(t *testing.T) {
	s := memstore.New(memstore.Config{Partitions: 4})
	f := function.New(s, at)
	mustDeploy(t, f, "whole:1.0.0")
	damage := map[string]string{
		"a:1.0.0": "x", "b:1.0.0": "{}", "c:1.0.0": `{"files": {"function.yaml": "c2V0"}, "digest": "x"}`, "d:1.0.0": `{"files": []}`, "e:1.0.0": "null",
		"f:1.0.0": fmt.Sprintf(`{"files": {}, "digest": %q}`, function.Files{}.Digest()),
	}
	for named, value := range damage {
		if _, err := s.Register(t.Context(), store.Registration{Kind: store.RegistryFunctions, Key: named, Value: []byte("1 " + value)}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := f.All(t.Context())
	if err != nil || len(all) != len(damage)+1 || all[len(damage)].Damaged != nil {
		t.Errorf("listed: %+v, %v", all, err)
	}
	for _, d := range all[:len(damage)] {
		var damaged *function.DamagedError
		if !errors.As(d.Damaged, &damaged) || damaged.Function != d.String() {
			t.Errorf("%s is listed as %+v", d.String(), d)
		}
		if _, err := f.Load(t.Context(), d.String()); !errors.As(err, &damaged) {
			t.Errorf("%s is loaded: %v", d.String(), err)
		}
		if _, _, err := f.Deploy(t.Context(), d.String(), function.Files{function.File: []byte("x")}, ""); !errors.As(err, &damaged) {
			t.Errorf("%s is deployed: %v", d.String(), err)
		}
		if err := f.Remove(t.Context(), d.String()); err != nil {
			t.Errorf("%s is removed: %v", d.String(), err)
		}
		mustDeploy(t, f, d.String())
	}
}

// TestRoom: a function that is too large is refused before it is stored, one at the limit is stored, and a store without room reports it.
func TestRoom(t *testing.T) {
	s := memstore.New(memstore.Config{Partitions: 4})
	f := function.New(s, at)
	largest := function.Files{function.File: make([]byte, function.MaxSize-len(function.File))}
	if _, _, err := f.Deploy(t.Context(), "largest:1.0.0", largest, strings.Repeat("a", 100)); err != nil {
		t.Error(err)
	}
	largest["x"] = nil
	if _, _, err := f.Deploy(t.Context(), "larger:1.0.0", largest, ""); err == nil || store.RefusedAs(err) != "" || !strings.Contains(err.Error(), "716801 bytes, and at most 716800 are allowed") {
		t.Error(err)
	}
	for n := 1; n < store.MaxRegistered; n++ {
		if _, err := s.Register(t.Context(), store.Registration{Kind: store.RegistryFunctions, Key: fmt.Sprintf("n%d:1.0.0", n), Value: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := f.Deploy(t.Context(), "more:1.0.0", function.Files{function.File: []byte("x")}, ""); store.RefusedAs(err) != store.Limit {
		t.Error(err)
	}
}

// silent is a registry that does not answer.
type silent struct{ store.Registry }

func (silent) Registered(context.Context, store.RegistryKind, string) (store.Registered, error) {
	return store.Registered{}, errors.New("the store does not answer")
}

// TestUnavailable: a function is not taken for a missing one when the store does not answer.
func TestUnavailable(t *testing.T) {
	f := function.New(silent{}, at)
	_, err := f.Load(t.Context(), "log:1.0.0")
	var unavailable *function.UnavailableError
	if !errors.As(err, &unavailable) || unavailable.Function != "log:1.0.0" || errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := f.Remove(t.Context(), "log:1.0.0"); !errors.As(err, &unavailable) {
		t.Error(err)
	}
}
