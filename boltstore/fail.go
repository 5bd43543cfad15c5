package boltstore

import "fmt"

// HeldError says that another process has a store's file.
type HeldError struct {
	Path string
	By   string // the process that has it, if that is known
}

func (e *HeldError) Error() string {
	by := e.By
	if by == "" {
		by = "another process"
	}
	return fmt.Sprintf("the store %s is in use by %s: wait for it to end, or use a store on Redis, which many processes can share", e.Path, by)
}

// DamagedError says that a file is not what a store has written. Nothing more is read from it or written to it.
type DamagedError struct {
	Path   string
	Detail string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the store %s is damaged: %s", e.Path, e.Detail)
}

// ClosedError says that a store was closed before.
type ClosedError struct{ Path string }

func (e *ClosedError) Error() string { return fmt.Sprintf("the store %s is closed", e.Path) }

// GoneError says that the file of an open store is not at its path any more, so that what is written would be lost when the process ends. Nothing
// is written until it is back.
type GoneError struct {
	Path string
	How  string // removed or replaced
}

func (e *GoneError) Error() string {
	return fmt.Sprintf("the file of the store %s was %s: nothing is written to it any more, since it would be lost when this process ends", e.Path, e.How)
}

// WriteError says that a file could not be written to. What was to be written is not there, and everything before is.
type WriteError struct {
	Path string
	Err  error
}

func (e *WriteError) Error() string {
	return fmt.Sprintf("the store %s cannot be written to: %s", e.Path, e.Err)
}

func (e *WriteError) Unwrap() error { return e.Err }
