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
