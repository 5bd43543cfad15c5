package dsl

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/delimited"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/suggest"
)

// checkRequests: SW126, a literal endpoint of `call: http` without a scheme, with another one, or without a host; SW112, a literal
// method or the name of a header that HTTP does not allow. Templates and expressions are only known when the task runs.
func checkRequests(c *checker) {
	Walk(c.w, func(t Task) bool {
		call, ok := t.(*CallHTTP)
		if ok {
			c.httpNames(call)
		}
		if ok && call.Endpoint != nil {
			c.httpEndpoint(call.Endpoint)
			c.hostToFillIn(call.Endpoint)
			c.otherPlaceholder(call.Endpoint)
		}
		return true
	})
}

func (c *checker) httpEndpoint(e *Endpoint) {
	uri := strings.TrimSpace(e.URI.Text())
	if m := wholeTemplate().FindStringSubmatch(uri); m != nil {
		meant := "${ ." + m[1] + " }"
		c.addAs(SeverityWarning, c.expressionFor(Diagnostic{Code: "SW126", Pointer: e.URI.Pointer,
			Message: fmt.Sprintf("`%s` is a part of a URL, in which `:` and `/` are encoded", uri),
			Help:    fmt.Sprintf("write `%s` for a whole URL", meant)}, meant))
	}
	if uri == "" || delimited.Is(uri) || strings.HasPrefix(uri, "{") || strings.Contains(uri, "${") {
		return
	}
	d := Diagnostic{Code: "SW126", Pointer: e.URI.Pointer}
	parts := urlStart().FindStringSubmatch(uri)
	const whole = "write the whole URL, such as https://example.com/path"
	switch {
	case parts != nil && !strings.EqualFold(parts[1], "http") && !strings.EqualFold(parts[1], "https"):
		d.Message, d.Help = fmt.Sprintf("`call: http` cannot reach %s", shorten.Quoted(uri)), "an endpoint begins with https:// or http://"
	case parts == nil && (strings.HasPrefix(uri, "http:") || strings.HasPrefix(uri, "https:")), parts != nil && parts[2] == "":
		d.Message, d.Help = fmt.Sprintf("the endpoint %s has no host", shorten.Quoted(uri)), whole
	case parts != nil && !portInRange(parts[2]):
		d.Message, d.Help = fmt.Sprintf("the port of the endpoint %s is not a number from 1 to 65535", shorten.Quoted(uri)), "without a port, https means 443, and http 80"
	case parts != nil:
		return
	case bareExpression().MatchString(uri):
		d.Message = fmt.Sprintf("`%s` is text here, and no URL: an expression needs `${ }`", uri)
		d = c.expressionFor(d, "${ "+uri+" }")
	case !startsWithHost().MatchString(uri):
		d.Message, d.Help = fmt.Sprintf("the endpoint %s has no scheme and no host", shorten.Quoted(uri)), whole
	default:
		d.Message, d.Label = fmt.Sprintf("the endpoint %s has no scheme", shorten.Quoted(uri)), didYouMean(likelyScheme(uri)+"://"+uri)
	}
	c.add(d)
}

// hostToFillIn: SW126, a host that a template left to the author: https://<your-host>/pets.
func (c *checker) hostToFillIn(e *Endpoint) {
	uri := e.URI.Text()
	m := unfilledHost().FindStringSubmatchIndex(uri)
	if m == nil || delimited.Is(uri) {
		return
	}
	c.add(Diagnostic{Code: "SW126", Pointer: e.URI.Pointer, Range: c.w.Source.Within(e.URI.Pointer, m[2], m[3]),
		Message: fmt.Sprintf("`%s` is not a host", uri[m[2]:m[3]]), Help: "write the host in its place, such as example.com"})
}

// otherPlaceholder: SW126, a part of a URL that other tools replace, and that is sent unchanged here.
func (c *checker) otherPlaceholder(e *Endpoint) {
	uri := e.URI.Text()
	m := placeholder().FindStringSubmatchIndex(uri)
	if m == nil || delimited.Is(uri) {
		return
	}
	name := "id"
	for i := 4; i < len(m); i += 2 {
		if m[i] >= 0 {
			name = uri[m[i]:m[i+1]]
		}
	}
	c.addAs(SeverityWarning, Diagnostic{Code: "SW126", Pointer: e.URI.Pointer, Range: c.w.Source.Within(e.URI.Pointer, m[2], m[3]),
		Message: fmt.Sprintf("nothing replaces `%s` in a URL", uri[m[2]:m[3]]), Label: didYouMean("{" + name + "}"),
		Help: fmt.Sprintf("write `{%s}`, which takes that member of the input", name)})
}

var (
	placeholder    = lazyregexp.New(`(?:/)(:([A-Za-z_]\w*)|<([A-Za-z_]\w*)>|%[sdv]|\{\.([A-Za-z_]\w*)\}|\{\$?(?:input|inputs|context|params|item|env)\.([A-Za-z_]\w*)\})(?:[/?#]|$)`)
	unfilledHost   = lazyregexp.New(`^[a-z]+://[^/?#<]*(<[^/?#<>]*>)`)
	wholeTemplate  = lazyregexp.New(`^\{([A-Za-z_]\w*)\}$`)
	afterHost      = lazyregexp.New(`(?:\]|^|@|[^:\]])(?::([^:\]]*))$`)
	urlStart       = lazyregexp.New(`^(?i:([a-z][a-z0-9+.-]*)://)([^/?#]*)`)
	startsWithHost = lazyregexp.New(`^(?:[\w{}-]+\.[\w{}.-]+|localhost|\[[\da-fA-F:]+\]|[\w-]+:\d)`)
)

// portInRange reports whether a URL has a valid port, a template for its port, or no port.
func portInRange(authority string) bool {
	m := afterHost().FindStringSubmatch(authority)
	if m == nil || m[1] == "" || strings.ContainsAny(m[1], "{}") {
		return true
	}
	port, err := strconv.ParseUint(m[1], 10, 16)
	return err == nil && port > 0
}

// likelyScheme returns http for the local machine, and https for all others.
func likelyScheme(uri string) string {
	for _, local := range []string{"localhost", "127.", "[::1]"} {
		if strings.HasPrefix(uri, local) {
			return "http"
		}
	}
	return "https"
}

// httpNames reports names that HTTP does not accept as a method or as the name of a header.
func (c *checker) httpNames(call *CallHTTP) {
	const allowed = "letters, digits and hyphens are allowed, and no space"
	if method := call.Method.Text(); method != "" && !delimited.Is(method) {
		if !IsToken(method) {
			c.add(Diagnostic{Code: "SW112", Pointer: call.Method.Pointer, Help: allowed, Message: fmt.Sprintf("%s is not a method such as GET", shorten.Quoted(method))})
		} else if meant := likelyMethod(method); meant != "" {
			d := Diagnostic{Code: "SW112", Pointer: call.Method.Pointer, Message: fmt.Sprintf("%s is not a method that HTTP has", shorten.Quoted(method)), Label: didYouMean(meant)}
			if _, n, exact := c.w.Source.find(call.Method.Pointer); exact {
				d.Fix = onlyIf(false, c.w.Source.Replace(n, meant))
			}
			c.addAs(SeverityWarning, d)
		}
	}
	c.headers(call.Headers, allowed)
	c.foreignTexts(call.Headers, nil)
	c.foreignKeys(call.Query)
}

// headers reports headers that cannot be sent as they are written; allowed describes the characters of a name.
func (c *checker) headers(all Value, allowed string) {
	headers, _ := all.Data.(map[string]any)
	same := map[string]string{}
	for _, name := range sortedKeys(headers) {
		value, at := headers[name], all.Pointer.Key(name)
		text, _ := value.(string)
		d := Diagnostic{Code: "SW112", Pointer: at, Range: c.w.Source.Key(at), Help: allowed, Message: fmt.Sprintf("%s is not the name of a header", shorten.Quoted(name))}
		first, twice := same[strings.ToLower(name)]
		switch {
		case value == nil || strings.TrimSpace(name) == "": // Parse reports blank names and values
			continue
		case twice:
			d.Message, d.Help = fmt.Sprintf("the header `%s` is given twice", name), fmt.Sprintf("upper and lower case make no difference: remove `%s` or `%s`", name, first)
		case IsToken(name) && (delimited.Is(text) || !strings.ContainsFunc(text, IsControl)):
			same[strings.ToLower(name)] = name
			continue
		case IsToken(name):
			d.Range = source.Range{} // the range of the value
			d.Message, d.Help = fmt.Sprintf("the header `%s` has a line break or another control character", name), "write its value on one line; a text of YAML after `|` ends with a line break, and one after `|-` does not"
		}
		c.add(d)
	}
}

// IsControl reports whether the value of a header must not contain a character, according to RFC 9110.
func IsControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// likelyMethod returns the method that was probably meant by a method that HTTP does not have, or "". The server checks others.
func likelyMethod(method string) string {
	known := []string{"get", "post", "put", "patch", "delete", "head", "options", "trace", "connect", "query"}
	lower := strings.ToLower(method)
	meant := map[string]string{"fetch": "get", "read": "get", "retrieve": "get", "create": "post", "update": "put", "remove": "delete", "del": "delete"}[lower]
	switch {
	case contains(known, lower):
		return ""
	case meant == "" && len(method) > 2:
		meant = suggest.Word(lower, known)
	}
	if method == strings.ToUpper(method) {
		return strings.ToUpper(meant)
	}
	return meant
}

// IsToken reports whether HTTP accepts a text as a method or as the name of a header: a token of RFC 9110.
func IsToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}
