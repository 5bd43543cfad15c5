package tasks

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	stduritemplate "github.com/std-uritemplate/std-uritemplate/go/v2"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
)

// uri is a compiled endpoint: an expression, or a template of RFC 6570 whose variables are the top-level properties
// of the task's input (semantics 11.7).
type uri struct {
	expression *expr.Template
	template   string
	variables  []uriVariable
	fixed      bool // the template is a URL, without variables
}

// uriVariable is a variable of a template, with the rules of its place.
type uriVariable struct {
	name     string
	optional bool // it may be missing: {?a} and {&a} then omit their parameter, {#a} the fragment
	inQuery  bool // it may be empty without changing the target of the URI
	prefix   int  // number of characters of it that are used, as in {name:3}; 0 for all
	several  bool // it may be an array or an object: {name*}, or after an operator that defines its form, such as {?name}
}

// operators are the characters that define the form of the variables after them.
const operators = "+#./;?&"

var prefixLength = lazyregexp.New(`^[1-9][0-9]{0,3}$`)

var templateExpression = lazyregexp.New(`\{([^{}]*)\}`)

func compileURI(b *interpreter.Builder, e *dsl.Endpoint) *uri {
	if expr.Delimited(e.URI.Text()) {
		return &uri{expression: b.Value(e.URI)}
	}
	u, err := parseTemplate(e.URI.Text())
	if err != nil {
		b.Report("SW126", e.URI.Pointer, "this is not a URI template: a variable of it is written {name}, with nothing else in the brackets")
	}
	return u
}

// compilePlace is like compileURI, for an external resource that is read when its task runs. In a remote function, a relative reference starts from
// the place of the function. A file of the default catalog is not available at that time. It is read with the function, by a reader that needs no
// policy for it.
func compilePlace(b *interpreter.Builder, e *dsl.Endpoint) *uri {
	text := e.URI.Text()
	if expr.Delimited(text) || strings.ContainsAny(text, "{}") {
		return compileURI(b, e)
	}
	located := *e
	located.URI.Data = b.Located(text)
	if e.Authentication != nil && strings.HasPrefix(located.URI.Text(), catalogScheme+":") {
		b.Report("SW802", e.URI.Pointer, text+" is a file of the default catalog, which is read with its function and without authentication: leave that out")
	}
	return compileURI(b, &located)
}

// parseTemplate reads a URI template.
func parseTemplate(text string) (*uri, error) {
	u := &uri{template: text}
	for _, at := range templateExpression().FindAllStringSubmatchIndex(text, -1) {
		inner := text[at[2]:at[3]]
		before := templateExpression().ReplaceAllString(text[:at[0]], "")
		optional := inner != "" && strings.ContainsRune("?&#", rune(inner[0]))
		for _, name := range strings.Split(strings.TrimLeft(inner, operators), ",") {
			name, length, shortened := strings.Cut(name, ":")
			name, exploded := strings.CutSuffix(name, "*")
			prefix := 0
			if shortened {
				if !prefixLength().MatchString(length) {
					return nil, fmt.Errorf("the length of %s must be a number from 1 to 9999", shorten.Quoted(name))
				}
				prefix, _ = strconv.Atoi(length) // as matched
			}
			u.variables = append(u.variables, uriVariable{
				name: name, prefix: prefix, optional: optional, inQuery: optional || strings.ContainsAny(before, "?#"),
				several: !shortened && (exploded || inner != "" && strings.ContainsRune("#./;?&", rune(inner[0]))),
			})
		}
	}
	u.fixed = len(u.variables) == 0 && isHTTP(text)
	_, err := stduritemplate.Expand(text, stduritemplate.Substitutions{})
	return u, err
}

// expand returns the URL to be called.
func (u *uri) expand(s *interpreter.Scope, input any) (string, *errors.Error) {
	if u.fixed {
		return u.template, nil
	}
	text, err := u.evaluate(s, input)
	if err != nil {
		return "", err
	}
	if !isHTTP(text) {
		unfit := errors.Expressionf("the endpoint must be a URL such as https://example.com/path, got %s", shorten.Quoted(withoutQuery(text)))
		if u.expression != nil {
			unfit = s.WithExpression(unfit, u.expression)
		}
		return "", unfit
	}
	return text, nil
}

// locate returns the place of a resource, which may also be a file. The Loader decides whether it may be read.
func (u *uri) locate(s *interpreter.Scope, input any) (string, *errors.Error) {
	text, err := u.evaluate(s, input)
	if err == nil && strings.TrimSpace(text) == "" {
		err = errors.Expressionf("the endpoint must not be empty")
		if u.expression != nil {
			err = s.WithExpression(err, u.expression)
		}
	}
	return text, err
}

// isHTTP reports whether text is a URL that can be called.
func isHTTP(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

func (u *uri) evaluate(s *interpreter.Scope, input any) (string, *errors.Error) {
	if u.expression != nil {
		return evalText(s, u.expression, "the endpoint")
	}
	return u.fill(input)
}

// fill expands the template with the properties of input.
func (u *uri) fill(input any) (string, *errors.Error) {
	if len(u.variables) == 0 {
		return u.template, nil
	}
	values, err := u.substitutions(input)
	if err != nil {
		return "", err
	}
	expanded, failed := stduritemplate.Expand(u.inBytes(values), values)
	if failed != nil {
		return "", errors.Expressionf("the URI template %q cannot be expanded: %s", u.template, failed)
	}
	return expanded, nil
}

// inBytes returns the template for values. The library counts the part of a text that {name:3} takes in bytes, and RFC 6570 counts it in characters.
func (u *uri) inBytes(values stduritemplate.Substitutions) string {
	if !slices.ContainsFunc(u.variables, func(v uriVariable) bool { return v.prefix > 0 }) {
		return u.template
	}
	return templateExpression().ReplaceAllStringFunc(u.template, func(expression string) string {
		variables := strings.Split(strings.Trim(expression, "{}"), ",")
		for i, variable := range variables {
			name, length, shortened := strings.Cut(variable, ":")
			if !shortened {
				continue
			}
			characters, _ := strconv.Atoi(length) // as parseTemplate has checked
			text, _ := values[strings.TrimLeft(name, operators)].(string)
			variables[i] = fmt.Sprintf("%s:%d", name, max(sizeOf(text, characters), 1))
		}
		return "{" + strings.Join(variables, ",") + "}"
	})
}

// sizeOf returns the size in bytes of the first characters of a text.
func sizeOf(text string, characters int) int {
	for at := range text {
		if characters == 0 {
			return at
		}
		characters--
	}
	return len(text)
}

// substitution returns the text for a value, and the mistake in the value, if there is one. It is nil for an array or object without items that may
// be left out.
func (variable uriVariable) substitution(v any) (value any, problem string) {
	switch v := v.(type) {
	case nil:
		return nil, "is null"
	case []any:
		return variable.list(v)
	case map[string]any:
		return variable.members(v)
	default:
		text := stringify(v)
		return text, variable.unfit(text)
	}
}

// unfit returns why a text cannot be in the path of a URI: it would make the URI another one.
func (variable uriVariable) unfit(text string) string {
	if !variable.inQuery && (strings.TrimSpace(text) == "" || text == "." || text == "..") {
		return "is " + shorten.Quoted(text)
	}
	return ""
}

// list returns the items of an array as text; null items are left out (RFC 6570, section 2.3).
func (variable uriVariable) list(all []any) (value any, problem string) {
	if !variable.several {
		return nil, "is an array; a scalar is needed, or {" + variable.name + "*} in the template"
	}
	var texts []any
	for _, item := range all {
		switch item.(type) {
		case nil:
			continue
		case []any, map[string]any:
			return nil, "has " + kindOf(item) + " in it; scalars are needed"
		}
		text := stringify(item)
		if problem = variable.unfit(text); problem != "" {
			return nil, strings.Replace(problem, "is", "has", 1) + " in it"
		}
		texts = append(texts, text)
	}
	return variable.unlessEmpty(texts, len(texts))
}

// members returns the members of an object as text, without null members.
func (variable uriVariable) members(all map[string]any) (value any, problem string) {
	if !variable.several {
		return nil, "is an object; a scalar is needed, or {" + variable.name + "*} in the template"
	}
	texts := map[string]any{}
	for name, item := range all {
		switch item.(type) {
		case nil:
			continue
		case []any, map[string]any:
			return nil, "has an array or object in it; scalars are needed"
		}
		texts[name] = stringify(item)
	}
	return variable.unlessEmpty(texts, len(texts))
}

func (variable uriVariable) unlessEmpty(value any, n int) (any, string) {
	switch {
	case n > 0:
		return value, ""
	case variable.optional:
		return nil, ""
	}
	return nil, "is empty"
}

// substitutions returns the variables as text. Without a value, or with a value that changes the path, the URI would name another resource: /orders/
// instead of /orders/7.
func (u *uri) substitutions(input any) (stduritemplate.Substitutions, *errors.Error) {
	properties, _ := input.(map[string]any) // other input has no properties
	values := stduritemplate.Substitutions{}
	for _, variable := range u.variables {
		v, given := properties[variable.name]
		if v == nil && variable.optional {
			continue
		}
		value, problem := variable.substitution(v)
		if v == nil && !given {
			problem = "is missing"
		}
		if value != nil {
			values[variable.name] = value
		}
		if problem != "" {
			return nil, errors.Expressionf("the variable %q of the URI template %s %s", variable.name, shorten.Quoted(withoutUser(u.template)), problem).
				With("variable", variable.name)
		}
	}
	return values, nil
}
