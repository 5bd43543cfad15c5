package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// logged is a message that the code logs, or that docs/operating.md explains.
type logged struct{ level, message string }

// explains reports whether the page's message is the beginning of one that the code logs.
func (l logged) explains(other logged) bool {
	return l.level == other.level && strings.HasPrefix(other.message, l.message)
}

// TestAlarms: the table of docs/operating.md has, with its level, each message of level WARN or ERROR that the code logs, and
// none that it does not log.
func TestAlarms(t *testing.T) {
	written, explained := loggedMessages(t), explainedMessages(t)
	if len(written) < 30 || len(explained) < 20 {
		t.Errorf("only %d messages are logged, and %d explained", len(written), len(explained))
	}
	for _, message := range written {
		if message.level != "INFO" && !slices.ContainsFunc(explained, func(e logged) bool { return e.explains(message) }) {
			t.Errorf("docs/operating.md does not explain %s %q", message.level, message.message)
		}
	}
	for _, message := range explained {
		if !slices.ContainsFunc(written, message.explains) {
			t.Errorf("docs/operating.md explains %s %q, which nothing logs", message.level, message.message)
		}
	}
}

// explainedMessages returns the messages of the table of docs/operating.md.
func explainedMessages(t *testing.T) (all []logged) {
	t.Helper()
	_, alarms, _ := strings.Cut(read(t, "docs/operating.md"), "## What alarms mean")
	alarms, _, _ = strings.Cut(alarms, "\n## ")
	for _, row := range regexp.MustCompile("(?m)^\\| ([A-Z]+) \\| (`.*?`) \\| ").FindAllStringSubmatch(alarms, -1) {
		for _, message := range quoted.FindAllStringSubmatch(row[2], -1) {
			all = append(all, logged{row[1], message[1]})
		}
	}
	return all
}

// loggedMessages returns what the code logs, without tests and what only tests use.
func loggedMessages(t *testing.T) (all []logged) {
	t.Helper()
	for name, text := range prose(t) {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(parsed.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing"` }) {
			continue
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			level := levelOf(call)
			if level == "" {
				return true
			}
			message := messageOf(afterLevel(call))
			if message == "" && level != "INFO" {
				t.Errorf("%s logs at level %s what docs/operating.md cannot name: begin the call with a constant message", name, level)
			}
			all = append(all, logged{level, message})
			return true
		})
	}
	return all
}

// levelOf returns the level at which a call logs; empty if it does not log.
func levelOf(call *ast.CallExpr) string {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !isLogger(method.X) {
		return ""
	}
	switch name := strings.TrimSuffix(method.Sel.Name, "Context"); name {
	case "Info", "Warn", "Error":
		return strings.ToUpper(name)
	case "Log", "LogAttrs":
		if level, ok := call.Args[1].(*ast.Ident); ok && level.Name == "Level" { // audit.Level, which no log leaves out
			return "AUDIT"
		}
		return "of its arguments"
	}
	return ""
}

// isLogger reports whether an expression is a logger, by its name.
func isLogger(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "log" || e.Name == "logger"
	case *ast.SelectorExpr:
		return e.Sel.Name == "Log" || e.Sel.Name == "log"
	case *ast.CallExpr:
		method, ok := e.Fun.(*ast.SelectorExpr)
		return ok && (method.Sel.Name == "Log" || method.Sel.Name == "With" && isLogger(method.X))
	}
	return false
}

// afterLevel returns the arguments of a call that logs, from the message on.
func afterLevel(call *ast.CallExpr) []ast.Expr {
	if levelOf(call) == "AUDIT" { // they begin with a context and the level
		return call.Args[2:]
	}
	return call.Args
}

// messageOf returns the message that a call logs, or the constant that it begins with; empty if there is none.
func messageOf(arguments []ast.Expr) string {
	if len(arguments) == 0 {
		return ""
	}
	first := arguments[0]
	for sum, ok := first.(*ast.BinaryExpr); ok; sum, ok = first.(*ast.BinaryExpr) {
		first = sum.X
	}
	text, ok := first.(*ast.BasicLit)
	if !ok {
		return ""
	}
	message, _ := strconv.Unquote(text.Value) // it has been parsed
	return message
}
