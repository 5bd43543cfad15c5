package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
)

// secrets is what a workflow may use as $secrets, and what must never be shown.
type secrets struct {
	env  func(name string) (string, bool)
	file map[string]any
}

const secretPrefix = "SWRUN_SECRET_"

// readSecrets reads the file of --secrets, a YAML or JSON object; an empty name is no file.
func readSecrets(env func(string) (string, bool), name string) (secrets, error) {
	s := secrets{env: env}
	if name == "" {
		return s, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return s, fileError("the secrets", err)
	}
	v, err := decodeData(name, text)
	if err != nil {
		// The decoder's message may quote the text, which is secret.
		return s, usagef("it must be one YAML or JSON object: name: value", "the secrets in %s cannot be read", name)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return s, usagef("it must be one YAML or JSON object: name: value", "the secrets in %s are no object", name)
	}
	s.file = object
	return s, nil
}

// lookup returns a secret's value: the file wins over the environment, and there the exact name over the usual
// spelling of environment variables.
func (s secrets) lookup(name string) (any, bool) {
	if v, ok := s.file[name]; ok {
		return v, true
	}
	for _, variable := range []string{secretPrefix + name, secretPrefix + environmentName(name)} {
		if text, ok := s.env(variable); ok {
			return secretValue(text), true
		}
	}
	return nil, false
}

func environmentName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, strings.ToUpper(name))
}

// secretValue reads JSON objects and arrays; everything else is text.
func secretValue(text string) any {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if v, err := expr.Decode([]byte(text)); err == nil {
			return v
		}
	}
	return text
}

// mask returns what hides the secrets called names, and everything in the file.
func (s secrets) mask(names []string, ascii bool) *mask {
	m := &mask{forms: map[string]string{}, open: "‹", close: "›"}
	if ascii {
		m.open, m.close = "<", ">"
	}
	for _, name := range names {
		if v, ok := s.lookup(name); ok {
			m.add(name, v)
		}
	}
	for name, v := range s.file {
		m.add(name, v)
	}
	m.finish()
	return m
}

// mask hides secret text. The zero value and nil hide nothing.
type mask struct {
	forms       map[string]string // what is hidden, by what stands for it
	open, close string
	replacer    *strings.Replacer
}

// shortestSecret is the length below which hiding a value would say more than it hides.
const shortestSecret = 4

var plainName = regexp.MustCompile(`^[\w.-]+$`)

func (m *mask) add(name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			m.add(name, member)
		}
	case []any:
		for _, item := range v {
			m.add(name, item)
		}
	case nil, bool:
	default:
		m.addText(name, fmt.Sprint(v))
	}
}

func (m *mask) addText(name, text string) {
	text = strings.TrimSpace(text)
	if len(text) < shortestSecret {
		return
	}
	if !plainName.MatchString(name) {
		name = "secret"
	}
	hidden := m.open + "redacted: " + name + m.close
	for _, form := range spellings(text) {
		m.forms[form] = hidden
	}
}

// spellings returns the forms in which text may turn up.
func spellings(text string) []string {
	quoted, _ := expr.Encode(text) // text always encodes
	html := strings.NewReplacer(`&`, `\u0026`, `<`, `\u003c`, `>`, `\u003e`).Replace(string(quoted))
	forms := []string{
		text, url.QueryEscape(text), url.PathEscape(text), strings.Trim(string(quoted), `"`), strings.Trim(html, `"`), printable(text),
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		forms = append(forms, encoding.EncodeToString([]byte(text)))
	}
	forms = append(forms, insideBase64(text, base64.StdEncoding)...)
	return append(forms, insideBase64(text, base64.URLEncoding)...)
}

// insideBase64 returns how text looks in the encoding of a longer text, such as user:password: what it becomes depends
// on how many bytes stand before it, and its first and last character mix with its neighbours.
func insideBase64(text string, encoding *base64.Encoding) []string {
	var forms []string
	for before := range 3 {
		encoded := encoding.EncodeToString([]byte(strings.Repeat("\x00", before) + text))
		from, to := (before*8+5)/6, (before+len(text))*8/6
		if form := encoded[from:to]; len(form) > shortestSecret {
			forms = append(forms, form)
		}
	}
	return forms
}

func (m *mask) finish() {
	forms := make([]string, 0, len(m.forms))
	for form := range m.forms {
		forms = append(forms, form)
	}
	// The longest first, so that no part of a longer secret stays when a shorter one is part of it.
	slices.SortFunc(forms, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, form := range forms {
		pairs = append(pairs, form, m.forms[form])
	}
	if len(pairs) > 0 {
		m.replacer = strings.NewReplacer(pairs...)
	}
}

func (m *mask) text(s string) string {
	if m == nil || m.replacer == nil {
		return s
	}
	return m.replacer.Replace(s)
}

// value returns JSON data without secrets. Data that holds none is returned as it is.
func (m *mask) value(v any) any {
	if m == nil || m.replacer == nil {
		return v
	}
	switch v := v.(type) {
	case string:
		return m.text(v)
	case []any:
		masked := make([]any, len(v))
		for i, item := range v {
			masked[i] = m.value(item)
		}
		return masked
	case map[string]any:
		masked := make(map[string]any, len(v))
		for name, member := range v {
			masked[m.text(name)] = m.value(member)
		}
		return masked
	case nil, bool:
		return v
	}
	if number := fmt.Sprint(v); m.text(number) != number {
		return m.text(number)
	}
	return v
}

// fault returns e without secrets. It has to come before e's texts are shortened: half a secret is not recognised.
func (m *mask) fault(e *errors.Error) *errors.Error {
	if e == nil || m == nil || m.replacer == nil {
		return e
	}
	masked := *e
	for _, text := range []*string{&masked.Type, &masked.Title, &masked.Detail, &masked.Instance} {
		*text = m.text(*text)
	}
	if e.Extensions != nil {
		masked.Extensions, _ = m.value(e.Extensions).(map[string]any)
	}
	return &masked
}

// writer hides secrets in what is written to w. Each Write must hold whole words, which all of this program's do.
func (m *mask) writer(w io.Writer) io.Writer { return maskedWriter{m, w} }

type maskedWriter struct {
	mask *mask
	w    io.Writer
}

func (w maskedWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.w, w.mask.text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
