package main

import (
	"path/filepath"
	"testing"
)

// TestLackedSecretsAreAFinding: a worker and a server that hold the file of the store report the missing secrets of the deployed workflows, and the
// secrets that are not granted, until they have them. They report the latest versions.
func TestLackedSecretsAreAFinding(t *testing.T) {
	for _, verb := range []string{"worker", "serve"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			h := &hosted{t, "file:" + filepath.Join(t.TempDir(), "runs.db")}
			deploy := func(name, version, secrets string) {
				h.exits(exitOK, "deploy", mustWriteFile(t, name+".yaml", "document: {dsl: 1.0.3, namespace: "+name+", name: uses, version: "+version+"}\n"+secrets+"do: [{a: {set: {n: 1}}}]\n"))
			}
			deploy("one", "0.1.0", "use: {secrets: [api, other, gone]}\n")
			deploy("two", "0.1.0", "use: {secrets: [api]}\n")
			deploy("none", "0.1.0", "")
			file := mustWriteFile(t, "s.yaml", "api: value-of-api\n$namespaces: {api: [one]}\n")
			if verb == "serve" {
				h.listening("serve", "--listen", "127.0.0.1:0", "--secrets", file)
			} else {
				h.work("--secrets", file)
			}
			h.until("one/uses:0.1.0 needs the secrets other, gone, without a value here; two/uses:0.1.0 needs the secret api, not granted to its namespace", "doctor")
			contains(t, h.exits(exitFindings, "doctor", "--strict"), "warning  SD022", "fix: give a value by --secrets", "!value-of-api")
			deploy("one", "0.2.0", "use: {secrets: [api, other]}\n")
			contains(t, h.exits(exitOK, "doctor"), "one/uses:0.2.0 needs the secret other, without a value here; two/", "!0.1.0 needs the secrets", "!gone")
			mustRewrite(t, file, "{api: value-of-api, other: value-of-other, $namespaces: {api: ['*']}}")
			h.until("the latest versions of the deployed workflows have their secrets here", "doctor")
		})
	}
}
