package client

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// maxCalled is the maximum length of the description of a call, in bytes.
const maxCalled = 200

// nameCalls completes the descriptions of effects by the calls in the document.
func nameCalls(p *interpreter.Program, all []Repeated) {
	for n, r := range all {
		if r.Called == "" && r.In == (store.Instance{}) { // the program belongs to the run, not to a child
			all[n].Called = calledIn(p, r.origin)
		}
	}
}

// calledIn returns the call of a task as written in its document: the method and the address, or the image of a container. Expressions
// remain as written. Users, queries and fragments of addresses are omitted. It is empty if the document does not contain the call.
func calledIn(p *interpreter.Program, origin dsl.Pointer) string {
	task, _ := p.Source(origin).Data(origin).(map[string]any)
	with, run := member(task, "with"), member(task, "run")
	r := errors.Reached{
		Method: cmp.Or(methodOf(task, with), stringOf(with["operationId"]), stringOf(with["operation"])),
		URI: shownAddress(cmp.Or(
			endpoint(with["endpoint"]), endpoint(member(member(with, "server"), "http")["endpoint"]), endpoint(with["server"]),
			endpoint(member(with, "agentCard")["endpoint"]), endpoint(member(with, "document")["endpoint"]),
		)),
		What: stringOf(member(run, "container")["image"]),
	}
	if service := member(with, "service"); service["host"] != nil {
		r.Method = strings.Trim(stringOf(service["name"])+"/"+r.Method, "/")
		r.URI = shownAddress(stringOf(service["host"]))
		if port := service["port"]; port != nil && r.URI != "" {
			r.URI += fmt.Sprintf(":%v", port)
		}
	}
	return shorten.To(r.String(), maxCalled)
}

// methodOf returns the method of a call. The method of HTTP is in capital letters, as it is sent.
func methodOf(task, with map[string]any) string {
	method := stringOf(with["method"])
	if task["call"] != "http" || strings.HasPrefix(strings.TrimSpace(method), "${") {
		return method
	}
	return strings.ToUpper(method)
}

// endpoint returns the address of an endpoint, which is text or an object with a uri.
func endpoint(v any) string {
	if object, ok := v.(map[string]any); ok {
		v = object["uri"]
	}
	return stringOf(v)
}

// shownAddress returns an address without the parts that may be secret.
func shownAddress(uri string) string {
	if strings.HasPrefix(strings.TrimSpace(uri), "${") { // an expression, whose value is not known
		return errors.MaskURL(uri)
	}
	uri, _, _ = strings.Cut(uri, "#")
	uri, _, _ = strings.Cut(uri, "?")
	if scheme, rest, ok := strings.Cut(uri, "://"); ok {
		host, path, _ := strings.Cut(rest, "/")
		if at := strings.LastIndex(host, "@"); at >= 0 {
			uri = strings.TrimSuffix(scheme+"://"+host[at+1:]+"/"+path, "/")
		}
	}
	return errors.MaskURL(uri)
}

func member(of map[string]any, name string) map[string]any {
	object, _ := of[name].(map[string]any)
	return object
}

func stringOf(v any) string {
	s, _ := v.(string)
	return s
}
