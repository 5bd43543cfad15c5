package expr

import (
	"cmp"

	"github.com/itchyny/gojq"
)

// operator is arithmetic or a comparison. It handles whole numbers and short texts itself, and leaves everything else to
// the native.
type operator struct {
	op          gojq.Operator
	left, right node
	f           native
}

// The right side comes first, as in the machine.
func (o *operator) eval(r *run, input any) (any, error) {
	right, err := o.right.eval(r, input)
	if err != nil {
		return nil, err
	}
	left, err := o.left.eval(r, input)
	if err != nil {
		return nil, err
	}
	switch l := left.(type) {
	case int:
		if n, ok := right.(int); ok {
			if v, ok := o.numbers(l, n); ok {
				return v, nil
			}
		}
	case string:
		if s, ok := right.(string); ok && len(l)+len(s) < maxFreeText {
			if v, ok := o.compared(cmp.Compare(l, s)); ok {
				return v, nil
			}
		}
	}
	return r.call(o.f, input, left, right)
}

const smallNumber = 1 << 31 // sums and products of smaller numbers fit a machine word

func (o *operator) numbers(l, r int) (any, bool) {
	if v, ok := o.compared(cmp.Compare(l, r)); ok {
		return v, true
	}
	if l >= smallNumber || l <= -smallNumber || r >= smallNumber || r <= -smallNumber {
		return nil, false
	}
	switch o.op {
	case gojq.OpAdd:
		return l + r, true
	case gojq.OpSub:
		return l - r, true
	case gojq.OpMul:
		return l * r, true
	}
	return nil, false
}

// compared returns the value of a comparison for the order of its sides; ok is false for other operators.
func (o *operator) compared(order int) (v, ok bool) {
	switch o.op {
	case gojq.OpEq:
		return order == 0, true
	case gojq.OpNe:
		return order != 0, true
	case gojq.OpLt:
		return order < 0, true
	case gojq.OpLe:
		return order <= 0, true
	case gojq.OpGt:
		return order > 0, true
	case gojq.OpGe:
		return order >= 0, true
	}
	return false, false
}

// nativeOf returns the name of an operator's native, or "".
func nativeOf(op gojq.Operator) string {
	switch op {
	case gojq.OpAdd:
		return "_add"
	case gojq.OpSub:
		return "_subtract"
	case gojq.OpMul:
		return "_multiply"
	case gojq.OpDiv:
		return "_divide"
	case gojq.OpMod:
		return "_modulo"
	case gojq.OpEq:
		return "_equal"
	case gojq.OpNe:
		return "_notequal"
	case gojq.OpGt:
		return "_greater"
	case gojq.OpLt:
		return "_less"
	case gojq.OpGe:
		return "_greatereq"
	case gojq.OpLe:
		return "_lesseq"
	}
	return ""
}
