// Package conformance contains the cases that swrun must pass: the specification's own features and examples, and our
// cases as files.
//
// Every folder of testdata is a kind of task, by its stem, or a topic; every file in it is a case. It begins with a
// comment that names the rule, and contains
//
//	workflow.yaml     the document
//	input.json        its input, {} unless given
//	NAME.child.yaml   a workflow that it may run
//	output.json       the output, exactly; or
//	error.json        the members of the fault that must be equal; type is the short name of a standard one; or
//	diagnostics.txt   lines of code and pointer: the document is refused
//	records.txt       lines of record type and occurrence that must appear in this order
//	counts.txt        lines of number, record type and pointer: the number of such records
//	events.json       the emitted events, in order, with the attributes that must be equal
//	elapsed.txt       the virtual time that the run takes: 7s, or 1s..2s
//	endless.txt       occurrences whose effect does not end on its own; of several effects one is named by its number: /do/0/c 3
//	messages.json     messages that brokers send after the first effect of a call asyncapi; WORLD is another text in every run
//	hidden.txt        texts, one per line, that no state and no record contains
//
// Any other file is an external resource of that name. The handlers of standin_test.go answer calls.
package conformance
