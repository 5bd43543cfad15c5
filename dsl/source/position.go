package source

// Position is a place in a text. Line and Column count from 1, Column in characters; Offset counts bytes from 0.
type Position struct {
	Line, Column, Offset int
}

// Range is the text from Start up to, but not including, End.
type Range struct {
	Start, End Position
}

// Edit replaces the text of Range. Safe edits never change the meaning of a valid document.
type Edit struct {
	Range   Range
	NewText string
	Safe    bool
}

// Related is a second place that helps to understand a message about another one.
type Related struct {
	Range Range
	Label string
}
