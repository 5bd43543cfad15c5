package redacttest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// recorder counts what a search reports.
type recorder struct {
	testing.TB
	errors int
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.errors++ }

// TestPlantedLeaksAreFound: every spelling of a secret is found between text that comes by chance.
func TestPlantedLeaksAreFound(t *testing.T) {
	search := For(map[string]any{"pin": "481516234218", "number": 73194628507, "fraction": 3141.5926535897, "four": "Zq~w", "text": `kanarie/7f3Q+zw"9`})
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte("an export")))
	for name, spellings := range search {
		for _, spelling := range spellings {
			for _, text := range []string{digest[:30] + spelling + digest[30:], "2026-11-27T20:58:14." + spelling + "Z", base64.StdEncoding.EncodeToString([]byte(digest)) + spelling} {
				r := &recorder{TB: t}
				Search{name: search[name]}.Absent(r, "a planted text", text)
				if r.errors != 1 {
					t.Errorf("%s is not found in %s", spelling, text)
				}
			}
		}
	}
	r := &recorder{TB: t}
	search.Absent(r, "a text without secrets", strings.Repeat(digest, 1000))
	if r.errors > 0 {
		t.Error("a digest holds a secret")
	}
}

// TestCanariesThatComeByChance: a secret that digests, ids or times may contain is no canary.
func TestCanariesThatComeByChance(t *testing.T) {
	for _, secret := range []any{"48151623", 1234567, 31.41592, "Zq7w", "beef", "deadbee", "ABC234", "Ab3-x", "Ab+/x="} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v is taken", secret)
				}
			}()
			For(map[string]any{"secret": secret})
		}()
	}
}
