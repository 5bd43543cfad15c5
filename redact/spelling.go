package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"strconv"
	"strings"
)

// spelling is a form in which a text may turn up.
type spelling struct{ name, text string }

// spellings returns the forms in which text may turn up; the first is text itself.
func spellings(text string) []spelling {
	inJSON, _ := json.Marshal(text) // text always encodes
	plainJSON := strings.NewReplacer(`\u0026`, `&`, `\u003c`, `<`, `\u003e`, `>`).Replace(string(inJSON))
	quoted := strconv.Quote(text)
	digits := hex.EncodeToString([]byte(text))
	all := []spelling{
		{"", text}, {"in UTF-8", string([]rune(text))}, // as JSON writes bytes that are none
		{"in a query", url.QueryEscape(text)}, {"in a path", url.PathEscape(text)}, {"percent-encoded", percent(text)},
		{"in JSON", inner(plainJSON)}, {"in JSON for HTML", inner(string(inJSON))},
		{"quoted", inner(quoted)}, {"quoted for Go", inner(strconv.QuoteToASCII(text))}, {"in JSON in JSON", twice(plainJSON)},
		{"in HTML", html.EscapeString(text)}, {"in a shell", strings.ReplaceAll(text, `'`, `'\''`)},
		{"in CSV", strings.ReplaceAll(text, `"`, `""`)},
		{"in upper case", strings.ToUpper(text)}, {"in lower case", strings.ToLower(text)},
		{"in hex", digits}, {"in HEX", strings.ToUpper(digits)},
	}
	for _, encoding := range []struct {
		name string
		*base64.Encoding
	}{
		{"in base64", base64.StdEncoding}, {"in raw base64", base64.RawStdEncoding},
		{"in base64 for URLs", base64.URLEncoding}, {"in raw base64 for URLs", base64.RawURLEncoding},
	} {
		all = append(all, spelling{encoding.name, encoding.EncodeToString([]byte(text))})
	}
	all = append(all, insideBase64(text, "inside base64", base64.StdEncoding)...)
	return append(all, insideBase64(text, "inside base64 for URLs", base64.URLEncoding)...)
}

// inner returns a text in quotes without them.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// twice returns JSON text as it looks when it is text in JSON once more.
func twice(inJSON string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(inner(inJSON))
}

// percent encodes all but what no URL has to encode, as jq's @uri does.
func percent(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// insideBase64 returns how text looks in the encoding of a longer text, such as user:password: what it becomes depends
// on how many bytes stand before it, and its first and last character mix with its neighbours.
func insideBase64(text, name string, encoding *base64.Encoding) []spelling {
	var forms []spelling
	for before := range 3 {
		encoded := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + text))
		from, to := (before*8+5)/6, (before+len(text))*8/6
		if form := encoded[from:to]; len(form) > shortest {
			forms = append(forms, spelling{name + " " + strconv.Itoa(before), form})
		}
	}
	return forms
}
