// Package suggest finds the intended name for a misspelt one: a name for a question, or a name that is certain enough for a replacement.
package suggest

import "strings"

// longest is the length above which a wrong name is no misspelling.
const longest = 64

// Nearest returns the most likely intended choice for name, or an empty text without one, or if several are equally likely. A slip is an additional,
// missing or different letter, or two swapped neighbours; upper and lower case are the same. A short name has at most one slip, and at most half of
// its letters are wrong. Without slips, name may be the beginning of the choice, or the other way round.
func Nearest(name string, choices []string) string {
	const none = 6
	if name == "" {
		return ""
	}
	best, least := "", none
	for _, choice := range choices {
		slips := slipsBetween(name, choice)
		if slips > 2 || slips*2 > max(len(name), len(choice)) || slips == 2 && min(len(name), len(choice)) < 5 {
			continue
		}
		distance := 2 * slips
		if !strings.EqualFold(name[:1], choice[:1]) {
			distance++ // the first letter is seldom the wrong one
		}
		switch {
		case distance < least:
			best, least = choice, distance
		case distance == least && choice != best:
			best = "" // two choices are equally near
		}
	}
	if least < none {
		return best
	}
	return beginning(name, choices)
}

// beginning returns the only choice that has name as its prefix, or is a prefix of name.
func beginning(name string, choices []string) string {
	found := ""
	for _, choice := range choices {
		if min(len(name), len(choice)) < 3 || !strings.HasPrefix(choice, name) && !strings.HasPrefix(name, choice) {
			continue
		}
		if found != "" {
			return ""
		}
		found = choice
	}
	return found
}

// Word returns the only word of a vocabulary within one slip of a misspelt one, or an empty text. The misspelt word has no meaning in that
// vocabulary, so that it can be replaced.
func Word(misspelt string, vocabulary []string) string {
	found := ""
	for _, word := range vocabulary {
		if slipsBetween(misspelt, word) > 1 || len(misspelt) < 2 {
			continue
		}
		if found != "" && found != word {
			return ""
		}
		found = word
	}
	return found
}

// Name returns the only one of an author's names that a misspelt one can mean, or an empty text. Authors choose similar names on purpose (step1 and
// step2, item and items), so that only case, a doubled letter and swapped neighbours count as slips.
func Name(misspelt string, names []string) string {
	name := Word(misspelt, names)
	if name == "" || strings.EqualFold(name, misspelt) || swapped(name, misspelt) || undoubled(name) == undoubled(misspelt) {
		return name
	}
	return ""
}

// swapped reports whether b is a with two neighbouring letters swapped.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	for i := 0; i+1 < len(a); i++ {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:] && isLetter(a[i]) && isLetter(a[i+1])
		}
	}
	return false
}

// undoubled writes every doubled letter once. Digits stay: 1 and 11 are two numbers.
func undoubled(name string) string {
	var b strings.Builder
	name = strings.ToLower(name)
	for i := range len(name) {
		if i == 0 || name[i] != name[i-1] || !isLetter(name[i]) {
			b.WriteByte(name[i])
		}
	}
	return b.String()
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }

// slipsBetween counts the letters to insert, delete, replace or swap with the next one to turn a into b. For more than two it returns 3.
func slipsBetween(a, b string) int {
	if d := len(a) - len(b); d > 2 || d < -2 || len(a) > longest {
		return 3
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(replace, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
