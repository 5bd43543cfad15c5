package expr

import (
	"slices"

	"github.com/itchyny/gojq"
)

// definitions are those functions of jq that iterate over everything in their input and take errors for the end. They
// are compiled with the program, for gojq's own would do so without a charge.
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

// define puts those definitions that a program uses before it.
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
