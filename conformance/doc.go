// Package conformance holds what swrun is held to: the specification's own features, and our cases as files.
//
// Every folder of testdata is a kind of task, by its stem, or a topic; every file in it is a case: a comment that names the
// rule, workflow.yaml, input.json if there is an input, and one of output.json, error.json (the members that must
// be equal) and diagnostics.txt (lines of code and pointer). records.txt holds record types and paths that must
// appear in this order.
package conformance
