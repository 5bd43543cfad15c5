package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/swrun/swrun"
)

// TestSecretsOfEventsAreNotForDocuments: the secrets that the file of --events names are for brokers and receivers alone, unless the file of
// --secrets allows namespaces to use them.
func TestSecretsOfEventsAreNotForDocuments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "events.yaml")
	text := `
sources: {orders: {redis: {url: "redis://127.0.0.1:1", stream: s, username: u, passwordSecret: broker}}}
sinks:
  hook: {http: {url: "https://example.com", tokenSecret: hook}}
  shared: {http: {url: "https://example.com", tokenSecret: shared}}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &program{secrets: swrun.NewSecrets(map[string]any{"broker": "b", "hook": "h", "shared": "s", "other": "o"}, nil)}
	p.secrets.Restrict("shared", "shop")
	if err := (&serveFlags{events: file}).readEvents(p); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"broker": false, "hook": false, "shared": true, "other": true, "Broker": false} {
		if got := p.secrets.Allows("shop", name); got != want {
			t.Errorf("documents may use %s: %v", name, got)
		}
	}
}
