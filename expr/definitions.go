package expr

import (
	"slices"

	"github.com/itchyny/gojq"
)

// definitions returns jq definitions of the functions that iterate over everything in their input until an error. They are
// compiled with the program, because gojq's own do not charge for the iteration.
func definitions() map[string]string {
	return map[string]string{
		"recurse": `def recurse: recurse(.[]?);`,
		"paths":   `def paths: path(..) | select(. != []); def paths(f): path(.. | select(f)) | select(. != []);`,
		"tostream": `def tostream:
			def events($at):
				if (type == "array" or type == "object") and length > 0 then
					. as $whole | keys as $names |
					($names[] as $name | $whole[$name] | events($at + [$name])), [$at + $names[-1:]]
				else [$at, .] end;
			events([]);`,
	}
}

// later are functions of jq 1.5 to 1.8 that gojq lacks or defines differently, each with its arities. Each function uses only functions before it.
// Objects have no order here, so that their keys are always sorted.
func later() []definition {
	return []definition{
		{"keys_unsorted", []int{0}, `def keys_unsorted: keys;`},
		{"toarray", []int{0}, `def toarray: if type == "array" then . else [.] end;`},
		{"have_literal_numbers", []int{0}, `def have_literal_numbers: true;`},
		{"have_decnum", []int{0}, `def have_decnum: true;`},
		{"ascii", []int{0}, `def ascii: if type == "number" and . >= 0 and . <= 127 then [.] | implode else error("ascii takes a number from 0 to 127") end;`},
		{"fromdateiso8601", []int{0}, `def fromdateiso8601: ` + nativeSeconds + ` // (strptime("%Y-%m-%dT%H:%M:%S%z") | mktime);`},
		{"fromdate", []int{0}, `def fromdate: ` + nativeSeconds + ` // (strptime("%Y-%m-%dT%H:%M:%S%z") | mktime);`},
		{"date", []int{0}, `def date: todate;`},
		{"dateadd", []int{2}, `def dateadd(unit; $n): . + $n;`},
		{"datesub", []int{2}, `def datesub(unit; $n): . - $n;`},
		{"pow10", []int{0}, `def pow10: exp10;`},
		{"isvalid", []int{1}, `def isvalid(f): try (f | true) catch false;`},
	}
}

// definition is a function that is written in jq.
type definition struct {
	name    string
	arities []int
	text    string
}

// define prepends the definitions that a program uses.
func define(q *gojq.Query, used *walker) *gojq.Query {
	text := ""
	if used.recurses || used.calls("recurse") || used.calls("paths") {
		text += definitions()["recurse"]
	}
	for _, name := range []string{"paths", "tostream"} {
		if used.calls(name) {
			text += definitions()[name]
		}
	}
	for _, d := range later() {
		if used.calls(d.name) {
			text += d.text
		}
	}
	if text == "" {
		return q
	}
	own, err := gojq.Parse(text + ".")
	must(err == nil)
	q.FuncDefs = append(own.FuncDefs, q.FuncDefs...)
	return q
}

// calls reports whether a program calls a function that it does not define itself.
func (w *walker) calls(name string) bool {
	return slices.ContainsFunc(w.mentions, func(m mention) bool { return m.free && m.name == name })
}
