package dsl

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// foreignCode returns the offsets of the foreign characters in the code of a language, outside of its strings and comments. In a shell and in Python they
// include spaces that are no spaces there. In a shell they include dashes that are no begin of an option.
func foreignCode(code, language string) []int {
	isShell, isScript := language == "shell", language == "js" || language == "javascript"
	code = withoutText(code, isShell, isScript)
	all := foreignWords(code)
	for i, r := range code {
		if r <= unicode.MaxASCII {
			continue
		}
		before, _ := utf8.DecodeLastRuneInString(code[:i])
		after, _ := utf8.DecodeRuneInString(code[i+utf8.RuneLen(r):])
		isSpace := plainRune(r) == ' ' && (!isShell || besideASCII(before) && besideASCII(after))
		isDash := plainRune(r) == '-' && before == ' ' && isLatin(after)
		if isSpace && !isScript || isDash && isShell {
			all = append(all, i)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// besideASCII reports whether a neighbour of a foreign space belongs to a command in ASCII: it is of ASCII, another space, or the end of the command.
func besideASCII(r rune) bool { return r == utf8.RuneError || plainRune(r) <= unicode.MaxASCII }

// withoutText returns code of the same length that has spaces in the place of strings and comments, and of the documents inside of a shell command.
func withoutText(code string, isShell, isScript bool) string {
	b := []byte(code)
	for i := 0; i < len(b); {
		end := textEnd(code, i, isShell, isScript)
		for j := i; j < end; j++ {
			b[j] = ' '
		}
		i = max(end, i+1)
	}
	return string(b)
}

// textEnd returns the end of the string or comment that begins at an offset of code, or the offset if none does.
func textEnd(code string, i int, isShell, isScript bool) int {
	rest := code[i:]
	until := func(from int, end string) int {
		if at := strings.Index(rest[from:], end); at >= 0 {
			return i + from + at + len(end)
		}
		return len(code)
	}
	isComment := rest[0] == '#' && (i == 0 || !isShell || strings.ContainsRune(" \t\n;", rune(code[i-1])))
	switch {
	case isScript && strings.HasPrefix(rest, "/*"):
		return until(2, "*/")
	case isScript && strings.HasPrefix(rest, "//"), !isScript && isComment:
		return until(0, "\n")
	case isShell && strings.HasPrefix(rest, "<<"):
		return len(code)
	case !isShell && !isScript && (strings.HasPrefix(rest, `"""`) || strings.HasPrefix(rest, "'''")):
		return until(3, rest[:3])
	case rest[0] == '"', rest[0] == '\'', rest[0] == '`' && isScript:
		return i + stringEnd(rest, isShell)
	}
	return i
}

// stringEnd returns the length of the string with which code begins. A string in quotes ends with its line, except in a shell.
func stringEnd(code string, isShell bool) int {
	quote := code[0]
	for i := 1; i < len(code); i++ {
		switch {
		case code[i] == '\\' && !(isShell && quote == '\''):
			i++
		case code[i] == quote, code[i] == '\n' && !isShell && quote != '`':
			return i + 1
		}
	}
	return len(code)
}
