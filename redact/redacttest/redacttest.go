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
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Search is the spellings of secrets, by the secret's name.
type Search map[string][]string

// For returns the search for some secrets: text, numbers, or data with such leaves.
func For(secrets map[string]any) Search {
	s := Search{}
	for name, v := range secrets {
		s[name] = spellings(v)
	}
	return s
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
		if from, to := (before*8+5)/6, (before+len(text))*8/6; to-from > 4 {
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
