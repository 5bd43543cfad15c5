package redact

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Undeclared returns the label of a secret in stored data, as JSON, that is not one of the names: its own name, or the word secret if the name cannot
// be shown. It is empty if there is no such secret.
func Undeclared(stored []byte, names []string) string {
	for rest := string(stored); ; {
		_, after, found := strings.Cut(rest, marker+": ")
		if !found {
			return ""
		}
		path, _, _ := strings.Cut(after, "›")
		if !slices.ContainsFunc(names, func(name string) bool { return isOf(path, name) }) {
			shown, _, _ := strings.Cut(path, ",")
			if strings.HasPrefix(shown, hiddenLabel+" ") {
				shown = hiddenLabel
			}
			return shown
		}
		rest = after
	}
}

// isOf reports whether a path of a reference leads to a leaf of the secret with a name.
func isOf(path, name string) bool {
	_, begin := labels(name)
	rest, found := strings.CutPrefix(path, begin)
	return found && (rest == "" || rest[0] == '.' || rest[0] == ',')
}

// hiddenLabel is the label of a secret whose name may not be in a reference.
const hiddenLabel = "secret"

// labels returns the label of a secret for people, and the beginning of the paths of its leaves. Both depend only on the name, and not on other
// secrets.
func labels(name string) (label, path string) {
	if isPlainName(name) {
		return name, name
	}
	sum := sha256.Sum256([]byte(name))
	return hiddenLabel, hiddenLabel + " " + hex.EncodeToString(sum[:4])
}
