package openapi

import (
	"fmt"
	"maps"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/shorten"
)

// writer writes parameters to their places.
type writer struct {
	path    string
	query   []string
	cookies []string
	headers map[string]string
}

func (w *writer) write(p *Parameter, v any) error {
	v, err := p.joined(v)
	if err != nil {
		return err
	}
	switch p.In {
	case "path":
		return w.writePath(p, v)
	case "query":
		pairs, err := p.pairs(v)
		w.query = append(w.query, pairs...)
		return err
	case "cookie":
		pairs, err := p.pairs(v)
		w.cookies = append(w.cookies, pairs...)
		return err
	}
	w.headers[textproto.CanonicalMIMEHeaderKey(p.Name)] = strings.Join(flatten(v, p.explode, unescaped), ",")
	return nil
}

// joined returns a value as one text, if the parameter is JSON or has a separator.
func (p *Parameter) joined(v any) (any, error) {
	if p.json {
		data, err := expr.Encode(v)
		if err != nil {
			return nil, unfit(p.Name, "cannot be sent: %s", err)
		}
		return string(data), nil
	}
	if array, ok := v.([]any); ok && p.join != "" {
		return strings.Join(items(array), p.join), nil
	}
	if members, ok := v.(map[string]any); ok && p.join != "" {
		return strings.Join(flat(members, false, unescaped), p.join), nil
	}
	return v, nil
}

func (w *writer) writePath(p *Parameter, v any) error {
	written := ""
	values := flatten(v, p.explode, url.PathEscape)
	separator := ","
	switch p.style {
	case "label":
		if p.explode {
			separator = "."
		}
		written = "." + strings.Join(values, separator)
	case "matrix":
		written = matrix(p, v, values)
	default:
		written = strings.Join(values, separator)
	}
	if strings.TrimSpace(plainText(v)) == "" || len(values) == 0 || written == "." || written == ".." { // the path would name another resource
		return unfit(p.Name, "must not be %s: it is a part of the path", shorten.Quoted(plainText(v)))
	}
	w.path = strings.ReplaceAll(w.path, "{"+p.Name+"}", strings.NewReplacer("{", "%7B", "}", "%7D").Replace(written))
	return nil
}

func matrix(p *Parameter, v any, values []string) string {
	_, isObject := v.(map[string]any)
	name := url.PathEscape(p.Name)
	switch {
	case p.explode && isObject:
		return ";" + strings.Join(values, ";")
	case p.explode:
		return ";" + name + "=" + strings.Join(values, ";"+name+"=")
	}
	return ";" + name + "=" + strings.Join(values, ",")
}

// pairs writes a parameter as the pairs of a query, or as cookies.
func (p *Parameter) pairs(v any) ([]string, error) {
	escape, name := escapeQuery, escapeQuery(p.Name)
	if p.reserved {
		escape = escapeOthers
	}
	members, isObject := v.(map[string]any)
	_, isArray := v.([]any)
	switch {
	case p.style == "deepObject" && (isObject || isArray):
		return deep(name, v), nil
	case p.style != "form" && p.style != "deepObject":
		return nil, unfit(p.Name, "has the style %s, which does not go with its place (%s)", shorten.Quoted(p.style), p.In)
	case isObject && p.explode:
		return flat(members, true, escapeQuery), nil
	}
	values := flatten(v, p.explode, escape)
	switch {
	case len(values) == 0:
		return nil, nil
	case p.explode:
		for i, value := range values {
			values[i] = name + "=" + value
		}
		return values, nil
	}
	return []string{name + "=" + strings.Join(values, ",")}, nil
}

// flatten returns the values of an array, the names and values of an object, or the one value.
func flatten(v any, explode bool, escape func(string) string) []string {
	if members, ok := v.(map[string]any); ok {
		return flat(members, explode, escape)
	}
	values := items(v)
	for i, value := range values {
		values[i] = escape(value)
	}
	return values
}

// flat returns the members of an object: name=value, or name and value as separate texts.
func flat(members map[string]any, pairs bool, escape func(string) string) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := members[name]
		switch {
		case value == nil:
		case pairs:
			all = append(all, escape(name)+"="+escape(plainText(value)))
		default:
			all = append(all, escape(name), escape(plainText(value)))
		}
	}
	return all
}

// deep writes an object as name[member]=value, and nested objects in the same way.
func deep(name string, v any) (all []string) {
	switch v := v.(type) {
	case nil:
	case map[string]any:
		for _, member := range slices.Sorted(maps.Keys(v)) {
			all = append(all, deep(name+"["+escapeQuery(member)+"]", v[member])...)
		}
	case []any:
		for i, item := range v {
			all = append(all, deep(name+"["+strconv.Itoa(i)+"]", item)...)
		}
	default:
		all = append(all, name+"="+escapeQuery(plainText(v)))
	}
	return all
}

// items returns the values of an array as text, without nulls, or the one value.
func items(v any) []string {
	all := []string{}
	for _, item := range each(v) {
		all = append(all, plainText(item))
	}
	return all
}

// each returns the values of an array without nulls, or the one value.
func each(v any) []any {
	array, ok := v.([]any)
	if !ok {
		return []any{v}
	}
	return slices.DeleteFunc(slices.Clone(array), func(item any) bool { return item == nil })
}

// plainText writes text as it is, and everything else as JSON.
func plainText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	data, err := expr.Encode(v)
	if err != nil { // values of a workflow always encode
		return fmt.Sprint(v)
	}
	return string(data)
}

func unescaped(s string) string { return s }

// escapeQuery writes a space as %20, which every server understands.
func escapeQuery(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// escapeOthers keeps the characters that have a meaning in a URL, except characters that would end the value.
func escapeOthers(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if strings.IndexByte(":/?@!$'()*,;=[]", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString(escapeQuery(string([]byte{c})))
		}
	}
	return b.String()
}
