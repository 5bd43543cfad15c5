package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/swrun/swrun/internal/lazyregexp"
)

// spelling is a form in which a secret may occur; name identifies the form.
type spelling struct{ name, text string }

// spellings returns the forms in which text may occur; the first is text itself.
func spellings(text string) []spelling {
	inJSON, _ := json.Marshal(text) // text always encodes
	plainJSON := strings.NewReplacer(`\u0026`, `&`, `\u003c`, `<`, `\u003e`, `>`).Replace(string(inJSON))
	quoted := strconv.Quote(text)
	digits := hex.EncodeToString([]byte(text))
	all := []spelling{
		{"", text}, {"in UTF-8", string([]rune(text))}, // as JSON writes bytes that are not UTF-8
		{"in JSON", unquoted(plainJSON)}, {"in JSON for HTML", unquoted(string(inJSON))},
		{"quoted", unquoted(quoted)}, {"quoted for Go", unquoted(strconv.QuoteToASCII(text))}, {"in JSON in JSON", twiceInJSON(plainJSON)},
		{"in HTML", inHTML(text, "&#39;", "&#34;")}, {"in HTML with names", inHTML(text, "&apos;", "&quot;")},
		{"in HTML with quot", inHTML(text, "&#39;", "&quot;")}, {"in HTML of Python", inHTML(text, "&#x27;", "&quot;")},
		{"in a shell", strings.ReplaceAll(text, `'`, `'\''`)}, {"in CSV", strings.ReplaceAll(text, `"`, `""`)},
		{"in TSV", strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`).Replace(text)},
		{"in upper case", strings.ToUpper(text)}, {"in lower case", strings.ToLower(text)},
		{"in ASCII upper case", strings.Map(asciiUpper, text)}, {"in ASCII lower case", strings.Map(asciiLower, text)},
		{"in hex", digits}, {"in HEX", strings.ToUpper(digits)},
	}
	all = append(all, inURLs(text)...)
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

// unquoted returns a quoted text without its quotes.
func unquoted(quoted string) string { return quoted[1 : len(quoted)-1] }

// twiceInJSON returns the form of JSON text inside JSON.
func twiceInJSON(inJSON string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(unquoted(inJSON))
}

// asciiUpper and asciiLower change ASCII letters only, as jq's functions do.
func asciiUpper(r rune) rune {
	if r >= 'a' && r <= 'z' {
		return r - 'a' + 'A'
	}
	return r
}

func asciiLower(r rune) rune {
	if r >= 'A' && r <= 'Z' {
		return r - 'A' + 'a'
	}
	return r
}

func inHTML(text, apostrophe, quote string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", apostrophe, `"`, quote).Replace(text)
}

// inURLs returns the forms of text in a URL: languages differ in the characters that they escape.
func inURLs(text string) []spelling {
	query := url.QueryEscape(text)
	percent := strings.ReplaceAll(query, "+", "%20")
	component := strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(percent)
	whole := strings.NewReplacer("%3B", ";", "%2C", ",", "%2F", "/", "%3F", "?", "%3A", ":", "%40", "@", "%26", "&", "%3D", "=", "%2B", "+", "%24", "$", "%23", "#")
	forms := []spelling{
		{"in a query", query}, {"in a path", url.PathEscape(text)}, {"percent-encoded", percent}, {"in a form", strings.ReplaceAll(query, "%2A", "*")},
		{"as encodeURIComponent", component}, {"as encodeURI", whole.Replace(component)}, {"in a path with slashes", strings.ReplaceAll(percent, "%2F", "/")},
	}
	for _, form := range forms {
		forms = append(forms, spelling{form.name + ", in lower case", encoded().ReplaceAllStringFunc(form.text, strings.ToLower)})
	}
	return forms
}

var encoded = lazyregexp.New("%[0-9A-F]{2}")

// insideBase64 returns the forms of text in the encoding of a longer text, such as user:password. The form depends on the number of bytes before the
// text. Its first and last characters mix with their neighbours and are left out.
func insideBase64(text, name string, encoding *base64.Encoding) []spelling {
	var forms []spelling
	for before := range 3 {
		encoded := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + text))
		from, to := (before*8+5)/6, (before+len(text))*8/6
		if form := encoded[from:to]; len(form) > minSecretLength {
			forms = append(forms, spelling{name + " " + strconv.Itoa(before), form})
		}
	}
	return forms
}
