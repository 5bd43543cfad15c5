package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// canaryForms are secrets of all shapes: special characters, lengths, numbers, several lines, an object.
func canaryForms() map[string]any {
	long := func(n int) string {
		var b strings.Builder
		for i := n; b.Len() < n; i++ {
			fmt.Fprintf(&b, "q%dZ", i*7919)
		}
		return b.String()[:n]
	}
	return map[string]any{
		"four": "Zq~w", "eight": "Zq7wXk9v", "sixtyfour": long(64), "large": long(4096),
		"number": 73194628507, "digits": "76019482653", "fraction": 3141.5926535897, "spaces": "  padded secret 77 ", "unicode": "schlüssel-ключ-鍵-🔑",
		"quotes": `it's "quoted" \back\ slash`, "markup": "<s3cret & 'more'>", "address": "p@ss:w/rd?x=1&y#z%20+",
		"template": "${ .secret } $HOME `id`", "key": "-----BEGIN KEY-----\nMIIEkeyLineOne99\nkeyLineTwo77+/==\n-----END KEY-----\n",
		"account": map[string]any{"user": "ada-77xq", "tokens": []any{"tok-one-5512", "tok-two-9981"}, "pin": 86753098412},
		"control": "tab\there\x01bell", "newline": "first-line-42\nsecond-line-43",
	}
}

func canaryFormTasks() map[string]string {
	return map[string]string{
		"kept": `- a: {set: {k: "${ $secrets.NAME }"}}
- b: {wait: {milliseconds: 1}}
- c: {set: {k: "${ .k }", j: "${ .k | tojson }", u: "${ .k | tojson | @uri }", b: "${ .k | tojson | @base64 }"}, export: {as: "${ {kept: .} }"}}
- d: {wait: {milliseconds: 1}}
- e: {set: "${ $context }"}`,
		"told": `- t:
    try:
    - a: {raise: {error: {type: "https://x.test/no", status: 500, title: "${ $secrets.NAME | tostring }", detail: "${ \"a\" + ($secrets.NAME | tostring) + \"b\" }"}}}
    catch:
      as: err
      do:
      - w: {wait: {milliseconds: 1}}
      - s: {set: {d: "${ $err }", t: "${ $task.definition }", w: "${ $workflow.definition }"}}
- n: {set: {n: "${ {a: $secrets.NAME} + 1 }"}}`,
		"echoed": `- t:
    try:
    - a: {call: http, with: {method: post, endpoint: "URL/500", headers: {X-Key: "${ $secrets.NAME | @base64 }"}, query: {q: "${ $secrets.NAME | tostring }"}, body: {b: "${ $secrets.NAME }"}}}
    catch: {as: err, do: [{s: {set: "${ $err }"}}]}
- b: {call: http, with: {method: post, endpoint: URL/200, output: response, body: "${ [$secrets.NAME, ($secrets.NAME | tostring)] }"}}
- c: {wait: {milliseconds: 1}}
- d: {call: http, with: {method: post, endpoint: URL/200, output: raw, body: "${ [$secrets.NAME] }"}}`,
		"processed": `- a: {run: {shell: {command: 'printf "%s" "$K"; printf "%s" "$K" >&2', environment: {K: "${ $secrets.NAME | tostring | gsub(\"\\u0000\"; \"\") }"}, arguments: ["${ $secrets.NAME | tostring }"]}, return: all}}
- w: {wait: {milliseconds: 1}}
- c: {run: {script: {language: js, code: "console.log(process.argv[2]); console.error(JSON.stringify([process.argv[2]])); throw new TypeError('x' + process.argv[2] + 'y')", arguments: ["${ $secrets.NAME | tostring }"]}}}`,
		"cut": `- t:
    try: [{a: {set: {x: "${ error(\"p\" * 480 + ($secrets.NAME | tostring)) }"}}}]
    catch: {as: err, do: [{s: {set: "${ $err }"}}]}
- b: {set: {x: "${ ($secrets.NAME | tostring) as $k | ([$k, $k] | tonumber) }"}}`,
		"validated": `- a: {set: {k: "${ $secrets.NAME }"}, output: {schema: {document: {properties: {k: {const: other, pattern: "^nothing$", maxLength: 1, enum: [1]}}}}}}`,
		"chosen":    `- a: {for: {each: k, in: "${ [$secrets.NAME] }"}, do: [{w: {wait: {milliseconds: 1}}}, {i: {if: "${ $k | tostring | error }", set: {x: 1}}}]}`,
	}
}

// TestNoSecretOfAnyFormLeaves sends secrets of all shapes through runs, and searches all output.
func TestNoSecretOfAnyFormLeaves(t *testing.T) {
	forms := canaryForms()
	c := newCanaryCage(t, forms)
	all := canaryFormTasks()
	for n, place := range slices.Sorted(maps.Keys(all)) {
		if n%everyNth != 0 {
			continue
		}
		var document strings.Builder
		fmt.Fprintf(&document, "document: {dsl: 1.0.3, namespace: demo, name: %s, version: 1.0.0}\nuse: {secrets: [%s]}\ndo:\n", place, strings.Join(slices.Sorted(maps.Keys(forms)), ", "))
		for name := range forms {
			inner := strings.ReplaceAll("\n"+strings.NewReplacer("URL", c.echo, "NAME", name).Replace(all[place]), "\n", "\n    ")
			fmt.Fprintf(&document, "- %s:\n    try:%s\n    catch: {as: err, do: [{s: {set: \"${ $err }\"}}]}\n", name, inner)
		}
		c.add(place, document.String())
	}
	c.runAll()
}
