package spec

// Versions returns the released versions of the DSL that the schema covers, oldest first. What was added to 1.0.3 later
// (`catch.then`, arrays in `for.in`, `schedule.read`) is covered too.
func Versions() []string { return []string{"1.0.0", "1.0.1", "1.0.2", "1.0.3"} }

// Stems returns the kinds of tasks, sorted. A stem is the name of a kind's files in every folder: spec/do.md, dsl/do.go.
func Stems() []string {
	return []string{
		"call_a2a", "call_asyncapi", "call_function", "call_grpc", "call_http", "call_mcp", "call_openapi",
		"do", "emit", "for", "fork", "listen", "raise",
		"run_container", "run_script", "run_shell", "run_workflow",
		"set", "switch", "try", "wait",
	}
}

// Keyword is the property that determines what a task does.
type Keyword struct {
	Name string
	With []string // the properties that go with it, besides TaskKeys
}

// Keywords returns the keywords of tasks, sorted by name. A task has just one of them, but for `do` beside `for`.
func Keywords() []Keyword {
	return []Keyword{
		{"call", []string{"with"}},
		{"do", nil},
		{"emit", nil},
		{"for", []string{"do", "while"}},
		{"fork", nil},
		{"listen", []string{"foreach"}},
		{"raise", nil},
		{"run", nil},
		{"set", nil},
		{"switch", nil},
		{"try", []string{"catch"}},
		{"wait", nil},
	}
}

// TaskKeys returns the properties that every task may have, sorted.
func TaskKeys() []string {
	return []string{"export", "if", "input", "metadata", "output", "then", "timeout"}
}

// ErrorNames returns the last parts of the standard error types' URIs, in the order in which the specification lists
// them.
func ErrorNames() []string {
	return []string{
		"configuration", "validation", "expression", "authentication", "authorization", "timeout", "communication", "runtime",
	}
}
