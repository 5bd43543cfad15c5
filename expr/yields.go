package expr

import "github.com/itchyny/gojq"

// yields returns the type of a program's value if it is the same for every input, in words: "a number", "text", "a list", "an object", or "the
// changed input" for an assignment. It is empty if the type depends on the input, or if the value may be true, false or null.
func yields(q *gojq.Query) string {
	switch {
	case q == nil || len(q.FuncDefs) > 0: // a definition may hide a built-in function
		return ""
	case q.Term != nil:
		return termYields(q.Term)
	case len(q.Patterns) > 0, q.Op == gojq.OpPipe:
		if q.Op == gojq.OpPipe && isIdentity(q.Right) {
			return yields(q.Left)
		}
		return yields(q.Right)
	}
	switch q.Op {
	case gojq.OpAssign, gojq.OpModify, gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv, gojq.OpUpdateMod, gojq.OpUpdateAlt:
		return changedInput
	case gojq.OpMod:
		return "a number"
	case gojq.OpSub, gojq.OpMul, gojq.OpDiv:
		return "the result of arithmetic"
	case gojq.OpAdd:
		if left := yields(q.Left); left != "" {
			return left
		}
		return yields(q.Right)
	}
	return ""
}

// changedInput is the type of an assignment's value.
const changedInput = "the changed input"

func termYields(t *gojq.Term) string {
	if len(t.SuffixList) > 0 {
		return ""
	}
	switch t.Type {
	case gojq.TermTypeNumber, gojq.TermTypeUnary:
		return "a number"
	case gojq.TermTypeString, gojq.TermTypeFormat:
		return "text"
	case gojq.TermTypeArray:
		return "a list"
	case gojq.TermTypeObject:
		return "an object"
	case gojq.TermTypeQuery:
		return yields(t.Query)
	case gojq.TermTypeFunc:
		return functionYields(t.Func.Name)
	case gojq.TermTypeIf:
		if then := yields(t.If.Then); then != "" && len(t.If.Elif) == 0 && then == yields(t.If.Else) {
			return then
		}
	}
	return ""
}

// functionYields returns the type of a built-in function's value if it is the same for every input.
func functionYields(name string) string {
	switch name {
	case "length", "utf8bytelength", "tonumber", "floor", "ceil", "round", "now", "mktime", "fromdate":
		return "a number"
	case "tostring", "tojson", "join", "ascii_downcase", "ascii_upcase", "type", "todate":
		return "text"
	case "keys", "map", "sort", "sort_by", "unique", "unique_by", "group_by", "to_entries", "split", "reverse", "flatten":
		return "a list"
	case "from_entries", "with_entries":
		return "an object"
	}
	return ""
}

// assignment returns the offset of the first `=` of a program whose value is an assignment, or 0 for any other program. No program begins with `=`.
func (s *source) assignment(q *gojq.Query) int {
	if q.Op != gojq.OpAssign {
		return 0
	}
	for _, t := range s.tokens {
		if t.kind == punctuation && t.text == "=" {
			return t.start
		}
	}
	return 0
}
