package house

import (
	"fmt"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// uncalled returns the methods that no production file calls, each with the reason why it stays.
func uncalled() map[string]string {
	return map[string]string{
		"runtime/execution/execution.go: Execution.Instance": "the conformance tests drive executions, and name them by it",
		"runtime/execution/execution.go: Execution.Token":    "the conformance tests drive executions, and write with it",
		"server/route.go: Server.Control":                    "tests of the server ask its operations without HTTP",
		"server/route.go: Server.Routes":                     "tests of the server try each route",
	}
}

// askedByName returns the methods that libraries look for by an interface without a name, each with the library.
func askedByName() map[string]string {
	return map[string]string{
		"As": "errors", "Is": "errors", "Unwrap": "errors, net/http",
		"SkipTLSHandshake": "github.com/nats-io/nats.go",
	}
}

// TestEveryMethodIsCalled: a production file calls each method, or an interface asks for it, or it is a part of the library's exported API.
// TestEverythingIsReached cannot see exported methods, because reflection might call them.
func TestEveryMethodIsCalled(t *testing.T) {
	t.Parallel()
	all := mustLoad(t)
	p := program{calls: map[*types.Func]bool{}, asked: map[string][]*types.Interface{}, api: map[*types.Named]bool{}}
	for _, one := range all {
		p.read(one)
	}
	for _, one := range all {
		p.readTypes(one.Types)
	}
	reasons, needed := uncalled(), map[string]bool{}
	for _, one := range all {
		for _, f := range methods(one.Types) {
			if p.calls[f] || p.isAPI(f) || askedByName()[f.Name()] != "" {
				continue
			}
			name := methodName(one, f)
			needed[name] = true
			if reasons[name] == "" {
				t.Errorf("only tests call %s: delete it, or move it to the tests", name)
			}
		}
	}
	for name := range reasons {
		if !needed[name] {
			t.Errorf("%s is called now: delete its line here", name)
		}
	}
}

// mustLoad returns the packages of the module without their tests, and without packages that are there for tests.
func mustLoad(t *testing.T) []*packages.Package {
	t.Helper()
	mode := packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo
	all, err := packages.Load(&packages.Config{Context: t.Context(), Mode: mode}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		for _, problem := range one.Errors {
			t.Fatal(problem)
		}
	}
	return slices.DeleteFunc(all, func(one *packages.Package) bool {
		name := strings.TrimPrefix(one.PkgPath, module+"/")
		return strings.HasSuffix(name, "test") || forTests()[name] != ""
	})
}

// program is the reason why methods are needed.
type program struct {
	calls map[*types.Func]bool
	asked map[string][]*types.Interface // interfaces by the names of their methods
	api   map[*types.Named]bool         // types that a user of the library gets or gives
	seen  map[*types.Package]bool
}

func (p *program) read(one *packages.Package) {
	for _, used := range one.TypesInfo.Uses {
		if f, is := used.(*types.Func); is {
			p.calls[f.Origin()] = true
		}
	}
	for _, of := range one.TypesInfo.Types {
		if i, is := of.Type.(*types.Interface); is {
			p.ask(i)
		}
	}
	p.readInterfaces(one.Types)
	if one.PkgPath == module || one.PkgPath == module+"/activity" { // the library
		for _, name := range one.Types.Scope().Names() {
			if o := one.Types.Scope().Lookup(name); o.Exported() {
				p.publish(o.Type())
			}
		}
	}
}

// readInterfaces collects the interfaces of a package and of the packages that it imports.
func (p *program) readInterfaces(of *types.Package) {
	if p.seen[of] {
		return
	}
	if p.seen == nil {
		p.seen = map[*types.Package]bool{}
	}
	p.seen[of] = true
	for _, name := range of.Scope().Names() {
		if i, is := of.Scope().Lookup(name).Type().Underlying().(*types.Interface); is {
			p.ask(i)
		}
	}
	for _, imported := range of.Imports() {
		p.readInterfaces(imported)
	}
}

func (p *program) ask(i *types.Interface) {
	for m := range i.Methods() {
		p.asked[m.Name()] = append(p.asked[m.Name()], i)
	}
}

// readTypes counts a method as called if an interface asks for it. The type may have the method from an embedded type.
func (p *program) readTypes(of *types.Package) {
	for _, named := range namedTypes(of) {
		for s := range types.NewMethodSet(types.NewPointer(named)).Methods() {
			f := s.Obj().(*types.Func).Origin()
			asks := func(i *types.Interface) bool {
				return named.TypeParams() != nil || types.Implements(types.NewPointer(named), i)
			}
			if !p.calls[f] && slices.ContainsFunc(p.asked[f.Name()], asks) {
				p.calls[f] = true
			}
		}
	}
}

func (p *program) isAPI(f *types.Func) bool { return f.Exported() && p.api[receiverOf(f)] }

// publish adds a type to the API, with the types of its exported members.
func (p *program) publish(of types.Type) {
	switch of := of.(type) {
	case *types.Alias:
		p.publish(types.Unalias(of))
	case *types.Pointer:
		p.publish(of.Elem())
	case *types.Slice:
		p.publish(of.Elem())
	case *types.Map:
		p.publish(of.Key())
		p.publish(of.Elem())
	case *types.Chan:
		p.publish(of.Elem())
	case *types.Signature:
		for v := range of.Params().Variables() {
			p.publish(v.Type())
		}
		for v := range of.Results().Variables() {
			p.publish(v.Type())
		}
	case *types.Struct:
		for v := range of.Fields() {
			if v.Exported() {
				p.publish(v.Type())
			}
		}
	case *types.Named:
		p.publishNamed(of)
	}
}

func (p *program) publishNamed(of *types.Named) {
	of = of.Origin()
	if o := of.Obj(); p.api[of] || o.Pkg() == nil || !strings.HasPrefix(o.Pkg().Path(), module) {
		return
	}
	p.api[of] = true
	p.publish(of.Underlying())
	for m := range of.Methods() {
		if m.Exported() {
			p.publish(m.Type())
		}
	}
}

// methods returns the methods that a package declares for its types.
func methods(of *types.Package) (all []*types.Func) {
	for _, named := range namedTypes(of) {
		all = slices.AppendSeq(all, named.Methods())
	}
	return all
}

// namedTypes returns the types of a package that are no interfaces.
func namedTypes(of *types.Package) (all []*types.Named) {
	for _, name := range of.Scope().Names() {
		declared, is := of.Scope().Lookup(name).(*types.TypeName)
		if !is || declared.IsAlias() {
			continue
		}
		if named, is := declared.Type().(*types.Named); is && !types.IsInterface(named) {
			all = append(all, named)
		}
	}
	return all
}

func receiverOf(f *types.Func) *types.Named {
	of := f.Signature().Recv().Type()
	if p, is := of.(*types.Pointer); is {
		of = p.Elem()
	}
	named, _ := of.(*types.Named)
	return named
}

// methodName names a method, as "file: Type.Method".
func methodName(one *packages.Package, f *types.Func) string {
	at := one.Fset.Position(f.Pos())
	folder := strings.TrimPrefix(strings.TrimPrefix(one.PkgPath, module), "/")
	return fmt.Sprintf("%s: %s.%s", filepath.Join(folder, filepath.Base(at.Filename)), receiverOf(f).Obj().Name(), f.Name())
}
