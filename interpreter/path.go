package interpreter

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Path names an occurrence of a task: its pointer, with the iterations "[3]", retries "!2" and backward jumps "+1" that led
// to it. Idempotency keys and history refer to it (docs/design.md, State).
type Path string

// The marks are escaped in task names as RFC 6901 escapes / and ~.
var pathEscaper = strings.NewReplacer("[", "~2", "!", "~3", "+", "~4")

// suffix returns the addition of a repetition to the path of the task whose list is repeated.
func (r Repetition) suffix() string {
	switch {
	case r == Repetition{}:
		return ""
	case r.Iteration > 0:
		return "[" + strconv.Itoa(r.Iteration-1) + "]"
	}
	return "!" + strconv.Itoa(r.Attempt)
}

// IsIn reports whether an occurrence of a task is inside of another one.
func (p Path) IsIn(around Path) bool {
	return len(p) > len(around) && strings.HasPrefix(string(p), string(around)) && strings.ContainsRune("/[!+", rune(p[len(around)]))
}

// WithoutRetries returns the path without retries: every attempt is the same occurrence.
func (p Path) WithoutRetries() string {
	if !strings.Contains(string(p), "!") {
		return string(p)
	}
	var b strings.Builder
	for i, part := range strings.Split(string(p), "!") {
		if i > 0 {
			part = strings.TrimLeft(part, "0123456789")
		}
		b.WriteString(part)
	}
	return b.String()
}

// random returns a number in [0, 1) that depends only on the run, the occurrence and salt.
func (s *State) random(p Path, salt string) float64 {
	sum := s.digest("chance", string(p), salt)
	return float64(binary.BigEndian.Uint64(sum[:8])>>11) / (1 << 53)
}

// uuid returns a UUID that depends only on the run and the occurrence.
func (s *State) uuid(p Path) string {
	sum := s.digest("uuid", string(p))
	return uuid.NewHash(sha256.New(), uuid.Nil, sum[:], 8).String()
}

func (s *State) digest(parts ...string) [sha256.Size]byte {
	return digestOf(s.Namespace, s.ID, parts...)
}

// digestOf returns a digest of a run and of texts.
func digestOf(namespace, id string, parts ...string) [sha256.Size]byte {
	text := make([]byte, 0, 256)
	part := func(s string) { text = append(binary.BigEndian.AppendUint64(text, uint64(len(s))), s...) }
	part(namespace)
	part(id)
	for _, s := range parts {
		part(s)
	}
	return sha256.Sum256(text)
}
