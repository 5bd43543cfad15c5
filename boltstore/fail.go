package boltstore

import "fmt"

// HeldError reports that another process holds a store's file.
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

// DamagedError reports that a file has content that a store did not write. The store no longer reads or writes it.
type DamagedError struct {
	Path   string
	Detail string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("the store %s is damaged: %s", e.Path, e.Detail)
}

// ClosedError reports that a store was closed before.
type ClosedError struct{ Path string }

func (e *ClosedError) Error() string { return fmt.Sprintf("the store %s is closed", e.Path) }

// GoneError reports that the file of an open store is no longer at its path, so that writes would be lost when the process ends. Nothing is
// written until it is back.
type GoneError struct {
	Path string
	How  string // removed or replaced
}

func (e *GoneError) Error() string {
	return fmt.Sprintf("the file of the store %s was %s: nothing is written to it any more, since it would be lost when this process ends", e.Path, e.How)
}

// WriteError reports that a file could not be written. The failed write has no effect, and all earlier writes are kept.
type WriteError struct {
	Path string
	Err  error
}

func (e *WriteError) Error() string {
	return fmt.Sprintf("the store %s cannot be written to: %s", e.Path, e.Err)
}

func (e *WriteError) Unwrap() error { return e.Err }
