package redact

import "strings"

// hideAtCuts hides parts of secrets where a text may have been cut: at its ends, and beside the dots that mark an omission.
func (s *Set) hideAtCuts(text string) string {
	var b strings.Builder
	for {
		at, dots := findEllipsis(text)
		b.WriteString(s.hideEnds(text[:at]))
		b.WriteString(dots)
		if dots == "" {
			return b.String()
		}
		text = text[at+len(dots):]
	}
}

// findEllipsis returns the position of the first dots in a text; without dots, it returns the end of the text and "".
func findEllipsis(text string) (at int, dots string) {
	at = len(text)
	for _, form := range []string{"…", " ...", "..."} {
		if i := strings.Index(text, form); i >= 0 && i < at {
			at, dots = i, form
		}
	}
	return at, dots
}

// hideEnds hides the end of a secret that text begins with, and the beginning of a secret that it ends with.
func (s *Set) hideEnds(text string) string {
	for _, secret := range s.texts {
		few := minPartLength(secret)
		if len(secret) <= few || !strings.Contains(text, secret[:few]) && !strings.Contains(text, secret[len(secret)-few:]) {
			continue // the usual case
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

// minPartLength is the minimum length of a part of a secret at a cut that is hidden. It stays small for long secrets, because error messages rarely
// quote more than the first characters of a key.
func minPartLength(secret string) int {
	return min(max(minSecretLength, len(secret)/8), 2*minSecretLength)
}
