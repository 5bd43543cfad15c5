package dsl

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/delimited"
)

// KindCallHTTP is the kind of CallHTTP.
const KindCallHTTP Kind = "call_http"

// CallHTTP sends an HTTP request.
type CallHTTP struct {
	TaskBase
	Method   Value // text
	Endpoint *Endpoint
	Headers  Value // an object, or a ${ } string for the whole map
	Query    Value // as Headers
	Body     Value
	Format   string // content (default), raw or response
	Redirect bool
}

// Kind returns KindCallHTTP.
func (*CallHTTP) Kind() Kind { return KindCallHTTP }

// Traits returns the traits of a call that a server answers, and that may change something there.
func (t *CallHTTP) Traits() Traits {
	traits := serverCall()
	traits.ChangesOutside = !slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, strings.ToUpper(t.Method.Text()))
	return traits
}

func (t *CallHTTP) parts(w *walker) {
	w.endpoint(t.Endpoint)
	w.value(propertyCall, t.Method, t.Headers, t.Query, t.Body)
}

func parseCallHTTP(p *parser, o *object, base TaskBase) Task {
	o.allow("method", "endpoint", "?uri", "?authentication", "headers", "body", "query", "output", "redirect")
	o.misplacedAuthentication()
	c := &CallHTTP{
		TaskBase: base, Method: o.textValue("method"), Headers: o.textMap("headers"), Query: o.textMap("query"), Body: o.dataValue("body"),
		Format: o.enum("output", "content", "raw", "response"), Redirect: o.boolean("redirect"),
	}
	if n := o.value("endpoint"); n != nil {
		if key, _ := source.Child(n, "method"); key != nil { // reported at the nested key
			o.markPresent("method")
		}
	}
	o.require("method")
	if o.value("uri") != nil && o.value("endpoint") != nil {
		o.report("SW124", "uri", "`uri` is the old name of `endpoint`, which is here too")
	} else if o.value("uri") != nil { // older form, still on published pages (semantics 1.7b)
		p.add(Diagnostic{
			Code: "SW117", Message: "`uri` is `endpoint` now", Pointer: o.at.Key("uri"), Range: p.src.RangeOf(o.key("uri")),
			Label: didYouMean("endpoint"), Fix: p.src.Replace(o.key("uri"), "endpoint"),
		})
		c.Endpoint = o.endpointOr("uri")
		return c
	}
	o.require("endpoint")
	c.Endpoint = o.endpointOr("endpoint")
	return c
}

// misplacedAuthentication reports a policy beside the endpoint instead of in it.
func (o *object) misplacedAuthentication() {
	key := o.key("authentication")
	if key == nil {
		return
	}
	uri := "https://..."
	if n := o.value("endpoint"); n != nil && source.IsText(n) {
		uri = n.Value
	}
	o.p.add(Diagnostic{
		Code: "SW106", Message: "`authentication` belongs to `endpoint`", Pointer: o.at.Key("authentication"), Range: o.p.src.RangeOf(key),
		Label: "move it into `endpoint`", Help: fmt.Sprintf("write `endpoint: { uri: %s, authentication: ... }`", o.p.src.Quote(uri)),
	})
	o.authentication("authentication") // reports mistakes inside it as well
}

// textMap decodes headers and query parameters: an object of scalars and lists, or one expression for the whole map.
func (o *object) textMap(name string) Value {
	n := o.value(name)
	if n == nil || n.Kind == yaml.MappingNode || source.IsText(n) && delimited.Is(n.Value) {
		if n != nil && name == "headers" {
			o.p.reportBlankKeys(n, o.at.Key(name), "the name of a header")
			o.p.headersOfBody(n, o.at.Key(name))
		}
		return o.dataValue(name)
	}
	o.p.wrongType(n, o.at.Key(name), "`"+name+"`", objectOrExpression)
	o.p.helpBetter(cmp.Or(pairs(name, n), queryOf(n)))
	return o.valueOf(name, nil, FormData)
}

// headersOfBody warns of headers that no request sends as they are written, because the body determines its length and its encoding.
func (p *parser) headersOfBody(headers *yaml.Node, at Pointer) {
	for i := 0; headers.Kind == yaml.MappingNode && i+1 < len(headers.Content); i += 2 {
		if key := headers.Content[i]; slices.Contains([]string{"content-length", "transfer-encoding", "trailer"}, strings.ToLower(key.Value)) {
			p.add(Diagnostic{Code: "SW128", Message: fmt.Sprintf("`%s` has no effect: it follows from the body that is sent", oneLine(key.Value)), Pointer: at.Key(key.Value),
				Range: p.src.RangeOf(key), Help: "leave it out"})
		}
	}
}

// queryOf returns how to write a query that is written as in a URL: a=1&b=2, or "".
func queryOf(n *yaml.Node) string {
	values, err := url.ParseQuery(strings.TrimPrefix(n.Value, "?"))
	if err != nil || !source.IsText(n) || !strings.Contains(n.Value, "=") {
		return ""
	}
	var members []string
	for _, name := range sortedKeys(values) {
		members = append(members, name+": "+cmp.Or(values.Get(name), "''"))
	}
	return fmt.Sprintf("write `query: { %s }`", oneLine(strings.Join(members, ", ")))
}
