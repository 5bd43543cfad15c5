package swrun_test

import (
	"context"
	"strings"
	"testing"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
)

// TestSecretsOfNamespaces: only workflows of the allowed namespaces use a secret, in memory and in a store.
func TestSecretsOfNamespaces(t *testing.T) {
	env := func(name string) (string, bool) {
		return map[string]string{"SWRUN_SECRET_API_KEY": "of the environment"}[name], true
	}
	secrets := swrun.NewSecrets(map[string]any{"free": "f", "shop": "s3cr/t+value", "broker": "b", "api.key": "of the file"}, env)
	secrets.Restrict("shop", "aa", "cc")
	secrets.Restrict("broker")
	secrets.Restrict("api-key", "aa")
	for _, c := range []struct {
		name   string
		aa, bb bool
	}{
		{"free", true, true}, {"shop", true, false}, {"broker", false, false}, {"api-key", true, false}, {"api_key", true, false}, {"API_KEY", true, false},
		{"api.key", true, true}, {"nothing", true, true}, {"", true, true},
	} {
		for namespace, want := range map[string]bool{"aa": c.aa, "bb": c.bb, "": c.bb, "AA": c.bb, "*": c.bb} {
			if got := secrets.Allows(namespace, c.name); got != want {
				t.Errorf("%q may use %q: %v", namespace, c.name, got)
			}
		}
	}
	host := swrun.Host{Secrets: secrets.Lookup, AllowSecret: secrets.Allows}
	s, err := swrun.OpenStore(t.Context(), "memory:", swrun.StoreConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e, err := swrun.NewEngine(s, swrun.EngineConfig{Host: host})
	if err != nil {
		t.Fatal(err)
	}
	for namespace, allowed := range map[string]bool{"aa": true, "bb": false} {
		d, err := swrun.Parse("", []byte("document: {dsl: 1.0.3, namespace: "+namespace+", name: w, version: 1.0.0}\nuse: {secrets: [shop]}\ndo: [{g: {set: {guess: s3cr/t+value}, export: {as: .guess}}}, {a: {set: {n: '${ $secrets.shop | length }'}}}]"))
		if err != nil {
			t.Fatal(err)
		}
		_, inMemory := d.Run(t.Context(), nil, swrun.RunConfig{Host: host})
		run, err := e.StartDocument(t.Context(), d, nil, swrun.StartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		working, stop := context.WithCancel(t.Context())
		worked := make(chan error, 1)
		go func() { worked <- e.WorkOn(working, run) }()
		_, stored := run.Await(t.Context())
		stop()
		if err := <-worked; err != nil {
			t.Fatal(err)
		}
		for what, err := range map[string]error{"in memory": inMemory, "in a store": stored} {
			if fault := errors.AsError(err); fault != nil && strings.Contains(fault.Error(), "redacted") || (fault == nil) != allowed || fault != nil && fault.Status != 403 {
				t.Errorf("a run of %s %s: %v", namespace, what, err)
			}
		}
	}
}
