// Package redacttest looks for secrets where none may be. It knows by itself how they may be spelt: what package redact
// does not find would not be missed otherwise.
package redacttest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// Search is the spellings of secrets, by the secret's name.
type Search map[string][]string

// For returns the search for some secrets: text, numbers, or data with such leaves. It panics if one of them is so short that digests, ids and times
// may contain it by chance.
func For(secrets map[string]any) Search {
	s := Search{}
	for name, v := range secrets {
		s[name] = spellings(v)
		for _, spelling := range s[name] {
			if bits(spelling) < minBits {
				panic(fmt.Sprintf("redacttest: %q of the secret %s may be found by chance: give it more characters, or one that is in no base64", spelling, name))
			}
		}
	}
	return s
}

// minBits is how many bits of chance a spelling needs. A test of canaries searches some 2^16 characters of digests and times, and 2^21 of base64, of which six
// have 36 bits: one test in 2^15 finds a spelling that nobody has leaked, at worst.
const minBits = 32

// bits returns the binary logarithm of how many texts of this length there are in the smallest alphabet of random text that has the characters of s: those of
// times and numbers, hex, base32 and base64. Characters that are in none of them never come by chance.
func bits(s string) float64 {
	const digits = "0123456789"
	for _, alphabet := range []struct{ random, around string }{{digits, ".:+-"}, {digits + "abcdef", ""}, {digits + "ABCDEF", ""}, {"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", ""}} {
		if strings.Trim(s, alphabet.random+alphabet.around) == "" {
			return float64(len(strings.Map(func(r rune) rune {
				if strings.ContainsRune(alphabet.around, r) {
					return -1
				}
				return r
			}, s))) * math.Log2(float64(len(alphabet.random)))
		}
	}
	if strings.IndexFunc(s, func(r rune) bool {
		return r > 'z' || !strings.ContainsRune("+/-_=", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) >= 0 {
		return math.Inf(1)
	}
	return float64(len(strings.TrimRight(s, "="))) * math.Log2(64)
}

// Absent fails the test if text holds a secret.
func (s Search) Absent(t testing.TB, where, text string) {
	t.Helper()
	for name, all := range s {
		for _, spelling := range all {
			if i := strings.Index(text, spelling); i >= 0 {
				t.Errorf("%s: %s holds %.60q:\n…%q…", name, where, spelling, text[max(0, i-300):min(len(text), i+len(spelling)+60)])
				break
			}
		}
	}
}

// AbsentBelow fails the test if a file below a folder holds a secret. It returns the files.
func (s Search) AbsentBelow(t testing.TB, folder string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		held, err := os.ReadFile(path)
		files = append(files, path)
		s.Absent(t, path, string(bytes.ToValidUTF8(held, []byte("�"))))
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return files
}

// Redis returns the arguments of a redis-server that writes everything it receives to its files, and compresses nothing.
func Redis() []string {
	return []string{
		"--appendonly", "yes", "--aof-use-rdb-preamble", "no", "--auto-aof-rewrite-percentage", "0", "--rdbcompression", "no", "--list-compress-depth", "0",
	}
}

// spellings are what must not be found of a secret.
func spellings(v any) (found []string) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			found = append(found, spellings(v[name])...)
		}
		return found
	case []any:
		for _, member := range v {
			found = append(found, spellings(member)...)
		}
		return found
	}
	text := strings.TrimSpace(fmt.Sprint(v))
	quoted, _ := json.Marshal(text)
	found = []string{text, strings.Trim(string(quoted), `"`), url.QueryEscape(text), url.PathEscape(text), strings.ToUpper(text), strings.ToLower(text),
		fmt.Sprintf("%x", text), base64.StdEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding.EncodeToString([]byte(text))}
	for before := range 3 { // the characters that the neighbours do not change
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("u", before) + text))
		if from, to := (before*8+5)/6, (before+len(text))*8/6; to-from > 5 { // fewer may come by chance
			found = append(found, encoded[from:to])
		}
	}
	if n := len(text); n >= 24 && !strings.HasPrefix(text, "-----") {
		found = append(found, text[:12], text[n/2-6:n/2+6], text[n-12:])
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); len(line) >= 8 && !strings.HasPrefix(line, "-----") {
			found = append(found, line)
		}
	}
	return found
}
