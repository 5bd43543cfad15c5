package expr

import (
	"strings"

	"github.com/itchyny/gojq"
)

// destructured returns q, whose values are destructured by patterns, with a charge for values that do not fit, because the
// errors show them. Of alternative patterns, only the last one can fail.
func (p instrumenter) destructured(q *gojq.Query, patterns []*gojq.Pattern) *gojq.Query {
	for _, pattern := range patterns {
		p.pattern(pattern)
	}
	if q == nil || len(patterns) == 0 || !p.catches {
		return q
	}
	shape := shapeOf(patterns[len(patterns)-1])
	if shape.Type == gojq.TermTypeNull {
		return q
	}
	call := callOf(nativePatterns)
	call.Func.Args = []*gojq.Query{{Term: shape}}
	return then(q, call)
}

func (p instrumenter) pattern(pattern *gojq.Pattern) {
	if pattern == nil {
		return
	}
	for _, item := range pattern.Array {
		p.pattern(item)
	}
	for _, member := range pattern.Object {
		p.text(member.KeyString)
		p.query(member.KeyQuery)
		p.pattern(member.Val)
	}
}

// shapeOf returns a constant that describes the input of a pattern: an array or an object of shapes, null for anything, and true if the shape is
// known only at run time.
func shapeOf(pattern *gojq.Pattern) *gojq.Term {
	switch {
	case pattern == nil || pattern.Name != "":
		return &gojq.Term{Type: gojq.TermTypeNull}
	case len(pattern.Array) > 0:
		return shapeOfArray(pattern.Array)
	}
	object := &gojq.Object{}
	for _, member := range pattern.Object {
		value := shapeOf(member.Val)
		key, known := plainMember(member)
		if !known && value.Type == gojq.TermTypeNull {
			continue // the native that looks it up is guarded
		}
		if !known {
			return &gojq.Term{Type: gojq.TermTypeTrue}
		}
		object.KeyVals = append(object.KeyVals, &gojq.ObjectKeyVal{KeyString: &gojq.String{Str: key}, Val: &gojq.Query{Term: value}})
	}
	return &gojq.Term{Type: gojq.TermTypeObject, Object: object}
}

func shapeOfArray(patterns []*gojq.Pattern) *gojq.Term {
	var items *gojq.Query
	for _, item := range patterns {
		shape := &gojq.Query{Term: shapeOf(item)}
		if items == nil {
			items = shape
		} else {
			items = &gojq.Query{Left: items, Op: gojq.OpComma, Right: shape}
		}
	}
	return &gojq.Term{Type: gojq.TermTypeArray, Array: &gojq.Array{Query: items}}
}

// plainMember returns the name that a member of a pattern looks up.
func plainMember(member *gojq.PatternObject) (name string, ok bool) {
	switch {
	case member.Key != "":
		return strings.TrimPrefix(member.Key, "$"), true
	case member.KeyString != nil && member.KeyString.Queries == nil:
		return member.KeyString.Str, true
	}
	return "", false
}

// chargeMatch charges for the errors about values that do not fit a shape.
func (m *meter) chargeMatch(v, shape any) bool {
	switch shape := shape.(type) {
	case []any:
		array, ok := v.([]any)
		if !ok && v != nil {
			return m.chargePreview(v)
		}
		for i, s := range shape {
			if !m.chargeMatch(item(array, i), s) {
				return false
			}
		}
	case map[string]any:
		object, ok := v.(map[string]any)
		if !ok && v != nil {
			return m.chargePreview(v)
		}
		for name, s := range shape {
			if !m.chargeMatch(object[name], s) {
				return false
			}
		}
	case bool:
		_, ok := m.chargeWalk(v)
		return ok
	}
	return true
}
