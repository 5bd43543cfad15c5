// Package dsl is the language of workflows: the typed tree of a document, the parser that makes it, and the rules that need no execution. Package
// dsl/source reads the text below it. The interpreter, the tasks and all views of a workflow use the tree. The package evaluates no expression, and
// runs nothing.
//
// Start with [Parse], then [Workflow] and [Task]; [Check] applies the rules. Every element of the tree has one address, its [Pointer]; [Source] finds
// the place of a pointer in the text. The tree is read-only after Parse has returned it.
//
// Files are named by their content:
//
//   - workflow.go, task.go, duration.go, expression.go and others: the types of the tree
//   - call_*.go, run_*.go, try.go, wait.go and so on: a kind of task each, by its stem: its type, its decoding, its parts
//     and its properties ([Traits])
//   - object.go, list_item.go and property_*.go: the decoding of properties, and the reports about them
//   - check.go and rule_*.go: the rules. They use the traits of a task, and visit all parts of the tree in one way (walk.go)
package dsl
