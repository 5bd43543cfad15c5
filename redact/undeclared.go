package redact

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Undeclared returns what stored data, as JSON, says of a secret that is none of those with the names: its own name, or the word secret if
// that cannot be shown. It is empty if there is no such secret.
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

// isOf reports whether a reference's path is that of a leaf of the secret of a name.
func isOf(path, name string) bool {
	_, begin := labels(name)
	rest, found := strings.CutPrefix(path, begin)
	return found && (rest == "" || rest[0] == '.' || rest[0] == ',')
}

// hiddenLabel is what people see of a secret whose name may not stand in a reference.
const hiddenLabel = "secret"

// labels returns what people see of a secret of a name, and with what the paths of its leaves begin: the same wherever it is known, with
// whatever other secrets.
func labels(name string) (label, path string) {
	if isPlainName(name) {
		return name, name
	}
	sum := sha256.Sum256([]byte(name))
	return hiddenLabel, hiddenLabel + " " + hex.EncodeToString(sum[:4])
}
