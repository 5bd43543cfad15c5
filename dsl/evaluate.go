package dsl

import "fmt"

// Evaluate configures runtime expressions.
type Evaluate struct {
	Language string // "jq"
	Loose    bool   // mode: loose (semantics 2.5)
}

// Unsupported returns the diagnostic for expressions in another language than jq.
func (e Evaluate) Unsupported() (d Diagnostic, unsupported bool) {
	return Diagnostic{
		Code: "SW801", Pointer: "/evaluate/language", Message: fmt.Sprintf("expressions in `%s` are not supported", e.Language), Help: "use `jq`",
	}, e.Language != "jq" && e.Language != ""
}

func (p *parser) evaluate(parent *object) Evaluate {
	n := parent.value("evaluate")
	if n == nil {
		return Evaluate{Language: "jq"}
	}
	o := p.object(n, parent.at.Key("evaluate"), "`evaluate`", "language", "mode")
	return Evaluate{Language: o.textOr("language", "jq"), Loose: o.enum("mode", "strict", "loose") == "loose"}
}
