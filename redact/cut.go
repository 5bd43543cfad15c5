package redact

import "strings"

// cut hides what is left of a secret at the ends of a text, which may have been cut, and beside the dots that stand for
// what was left out.
func (s *Set) cut(text string) string {
	var b strings.Builder
	for {
		at, mark := dots(text)
		b.WriteString(s.ends(text[:at]))
		b.WriteString(mark)
		if mark == "" {
			return b.String()
		}
		text = text[at+len(mark):]
	}
}

// dots returns where the first dots of a text are, or its end.
func dots(text string) (at int, mark string) {
	at = len(text)
	for _, m := range []string{"…", " ...", "..."} {
		if i := strings.Index(text, m); i >= 0 && i < at {
			at, mark = i, m
		}
	}
	return at, mark
}

// ends hides a part of a secret that a text begins or ends with.
func (s *Set) ends(text string) string {
	for _, secret := range s.texts {
		few := least(secret)
		if len(secret) <= few || !strings.Contains(text, secret[:few]) && !strings.Contains(text, secret[len(secret)-few:]) {
			continue // most are not there at all
		}
		for n := min(len(secret)-1, len(text)); n >= few; n-- {
			if strings.HasSuffix(text, secret[:n]) {
				text = text[:len(text)-n] + marker + "›"
				break
			}
		}
		for n := min(len(secret)-1, len(text)); n >= few; n-- {
			if strings.HasPrefix(text, secret[len(secret)-n:]) {
				text = marker + "›" + text[n:]
				break
			}
		}
	}
	return text
}

// least is the length from which a part of a secret tells something of it. However long the secret is, a few characters
// at a cut are enough: the whole of a key is rarely quoted.
func least(secret string) int { return min(max(shortest, len(secret)/8), 2*shortest) }
