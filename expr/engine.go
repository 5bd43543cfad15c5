package expr

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/itchyny/gojq"
)

// native is one of gojq's own functions, as its machine calls it: it returns a value or an error.
type native = func(input any, args []any) any

// layout is the position of private fields of gojq that guards need.
//
// A context can stop jq's loops, but neither one huge operation nor the memory that operations build. gojq.WithFunction cannot replace gojq's own
// functions, especially not inside gojq's own definitions. Therefore each call of a native in a compiled program is replaced by a guarded call
// (guard.go), regardless of its origin, and jq's order of evaluation is unchanged. This needs two private fields, which newLayout looks up and checks
// once. A version of gojq that moves them fails at the start of the program and in every test.
type layout struct {
	codes    int // of gojq.Code: []*struct{v any; ...}
	value    uintptr
	env      reflect.Type // *env, the result of Run
	args     uintptr      // of env: [32]any
	nargs    int
	forks    int
	values   int
	stack    []int // of env: *stack, whose first field is its data
	paths    int   // of env: the stack with the steps of the path that the machine follows
	expDepth int   // of env: above zero while the machine evaluates something that is not part of the path
}

var engine = newLayout()

func newLayout() *layout {
	code := mustCompile(".")
	l := &layout{nargs: 32}
	codes, ok := reflect.TypeOf(*code).FieldByName("codes")
	must(ok && codes.Type.Kind() == reflect.Slice && codes.Type.Elem().Kind() == reflect.Pointer)
	l.codes = codes.Index[0]
	value, ok := codes.Type.Elem().Elem().FieldByName("v")
	must(ok && value.Type == reflect.TypeFor[any]())
	l.value = value.Offset

	l.env = reflect.TypeOf(code.Run(nil))
	must(l.env.Kind() == reflect.Pointer && l.env.Elem().Kind() == reflect.Struct)
	args, ok := l.env.Elem().FieldByName("args")
	must(ok && args.Type == reflect.TypeFor[[32]any]())
	l.args = args.Offset
	l.forks = l.field("forks", reflect.Slice)
	l.values = l.field("values", reflect.Slice)
	for _, name := range []string{"stack", "paths", "scopes"} {
		l.stack = append(l.stack, l.field(name, reflect.Pointer))
	}
	l.paths, l.expDepth = l.field("paths", reflect.Pointer), l.field("expdepth", reflect.Int)
	stack := l.env.Elem().Field(l.paths).Type.Elem()
	step := stack.Field(0).Type.Elem().Field(0).Type
	must(stack.Field(1).Name == "index" && step.Field(1).Name == "value" && step.Field(1).Type == reflect.TypeFor[any]())
	return l
}

func (l *layout) field(name string, kind reflect.Kind) int {
	f, ok := l.env.Elem().FieldByName(name)
	must(ok && f.Type.Kind() == kind)
	if kind == reflect.Pointer {
		must(f.Type.Elem().Field(0).Type.Kind() == reflect.Slice)
	}
	return f.Index[0]
}

func must(ok bool) {
	if !ok {
		panic("expr: this version of gojq is laid out differently: adapt layout")
	}
}

func mustCompile(source string) *gojq.Code {
	query, err := gojq.Parse(source)
	must(err == nil)
	code, err := gojq.Compile(query)
	must(err == nil)
	return code
}

// replaceNatives calls visit for each call of a native in code, and replaces the native by the result of visit.
func (l *layout) replaceNatives(code *gojq.Code, visit func(name string, arity int, f native) native) {
	codes := reflect.ValueOf(code).Elem().Field(l.codes)
	for i := range codes.Len() {
		value := (*any)(unsafe.Add(codes.Index(i).UnsafePointer(), l.value))
		call, ok := (*value).([3]any)
		if !ok {
			continue
		}
		f, ok := call[0].(native)
		must(ok)
		*value = [3]any{visit(call[2].(string), call[1].(int), f), call[1], call[2]}
	}
}

// attach gives the machine behind iter its meter, in the last element of its argument array. Natives take at most 30
// arguments, so that the machine never uses that element.
func (l *layout) attach(iter gojq.Iter, m *meter) {
	machine := reflect.ValueOf(iter)
	must(machine.Type() == l.env)
	args := (*[32]any)(unsafe.Add(machine.UnsafePointer(), l.args))
	args[len(args)-1] = m
	m.machine = machine.Elem()
}

// meterOf returns the meter of the machine that calls a native with args.
func meterOf(args []any) *meter {
	all := args[:cap(args)]
	return all[len(all)-1].(*meter)
}

// stackEntries returns the number of entries that the machine keeps.
func (l *layout) stackEntries(machine reflect.Value) int {
	if !machine.IsValid() {
		return 0
	}
	n := machine.Field(l.forks).Len() + machine.Field(l.values).Len()/4
	for _, i := range l.stack {
		n += machine.Field(i).Elem().Field(0).Len()
	}
	return n
}

// leavesPath reports whether the machine follows a path and v is not the value at the path so far, so that the next step fails.
func (l *layout) leavesPath(machine reflect.Value, v any) bool {
	if !machine.IsValid() || machine.Field(l.expDepth).Int() != 0 {
		return false
	}
	paths := machine.Field(l.paths).Elem()
	top := int(paths.Field(1).Int())
	if top < 0 {
		return false
	}
	is, at := reflect.ValueOf(v), paths.Field(0).Index(top).Field(0).Field(1).Elem()
	switch {
	case !is.IsValid() || is.Kind() != at.Kind():
		return true
	case is.Kind() == reflect.Map || is.Kind() == reflect.Slice:
		return is.Pointer() != at.Pointer() || is.Len() != at.Len()
	}
	return true // even an equal scalar may come from elsewhere; it is small, or was charged
}

// native returns the native of that name and number of arguments, or nil if jq defines the function in another way.
func (l *layout) native(name string, arity int) (found native) {
	source := name
	if arity > 0 {
		source += "(" + strings.Repeat(".;", arity-1) + ".)"
	}
	query, err := gojq.Parse(source)
	if err != nil {
		return nil
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil
	}
	calls := 0
	l.replaceNatives(code, func(called string, n int, f native) native {
		if calls++; called == name && n == arity {
			found = f
		}
		return f
	})
	if calls != 1 {
		return nil
	}
	return found
}

// builtins returns the arities of gojq's functions by name, without the functions that make an expression depend on the host.
var builtins = sync.OnceValue(newBuiltins)

func newBuiltins() map[string][]int {
	found := map[string][]int{}
	list, _ := mustCompile("builtins").Run(nil).Next()
	for _, entry := range list.([]any) {
		name, arity, _ := strings.Cut(entry.(string), "/")
		if forbidden(name) == "" {
			found[name] = append(found[name], int(arity[0]-'0'))
		}
	}
	found["debug"], found["stderr"] = []int{0, 1}, []int{0}
	for _, d := range later() {
		found[d.name] = d.arities
	}
	return found
}

// forbidden describes the access that a forbidden function or variable of jq would give, or returns "" if it is not forbidden.
func forbidden(name string) string {
	switch name {
	case "env", "$ENV":
		return "the environment"
	case "input", "inputs", "input_filename", "input_line_number":
		return "further input"
	case "halt", "halt_error":
		return "the host's process"
	case "modulemeta", "get_search_list", "import", "include", "module":
		return "modules"
	case "$__loc__", "$__prog_args", "$__prog_name":
		return "the place in the source"
	}
	return ""
}

// Functions returns the names of the functions that expressions may call, sorted, for suggestions.
func Functions() []string {
	names := make([]string, 0, len(builtins()))
	for name := range builtins() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
