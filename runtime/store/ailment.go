package store

import (
	"context"
)

// Examiner finds out whether a store can be relied on.
type Examiner interface {
	// Examine returns everything that keeps the store from being relied on; nothing if it is well. It writes to the store to find out. It
	// does not wait for a trouble to pass: if the store does not answer before ctx ends, that is an Ailment.
	Examine(ctx context.Context) []Ailment
}

// Ailment is one thing that keeps a store from being relied on.
type Ailment struct {
	Reason  Reason
	Refuses Refusing
	// Minor reports that the ailment loses no run and refuses at most operations that need the damaged part.
	Minor bool
	// Partial reports that only a part of a Damaged store is damaged. Operations that do not need this part work as before.
	Partial bool
	What    string // is wrong, for people
	Fix     string // remedy for the user
}

// PartError is an error caused by one part of the store that was overwritten by another program. Operations that do not need this part work
// as before.
type PartError interface {
	error
	PartOfStore() string // its name
}

// Reason is a kind of Ailment. There are few, so that metrics can have them as a label.
type Reason string

// The reasons.
const (
	Unreachable  Reason = "unreachable"   // no connection
	Silent       Reason = "silent"        // no answer in time
	ReadOnly     Reason = "readonly"      // a replica, or a file system that takes no writes
	DiskFull     Reason = "disk-full"     // no room, or a limit of the process (ulimit -f)
	Unwritable   Reason = "unwritable"    // writes fail for another reason
	MemoryFull   Reason = "memory-full"   // a Redis with no memory left, or nearly
	Evicting     Reason = "evicting"      // a Redis that deletes keys when its memory is full
	Forbidden    Reason = "forbidden"     // the user of the store lacks a permission
	NotDurable   Reason = "not-durable"   // a Redis that promises less than was required
	Damaged      Reason = "damaged"       // stored data cannot be read
	Gone         Reason = "gone"          // the file was removed or replaced, or the store was closed
	ClockDiffers Reason = "clock-differs" // from the clock of this machine
)

// Reasons returns all of them.
func Reasons() []Reason {
	return []Reason{Unreachable, Silent, ReadOnly, DiskFull, Unwritable, MemoryFull, Evicting, Forbidden, NotDurable, Damaged, Gone, ClockDiffers}
}

// outlines are the texts of the reasons for callers that may not know the details.
func outlines() map[Reason]string {
	return map[Reason]string{
		Unreachable: "the store cannot be reached", Silent: "the store does not answer in time", ReadOnly: "the store takes no writes", DiskFull: "the disk of the store is full",
		Unwritable: "the store cannot be written to", MemoryFull: "the memory of the store is full", Evicting: "the store may evict stored data", Forbidden: "the store refuses a command",
		NotDurable: "the store is less durable than required", Damaged: "the store is damaged", Gone: "the store is gone", ClockDiffers: "the clock of the store differs from that of the server",
	}
}

// OutlinedFix is the remedy of a caller that may not know the details.
const OutlinedFix = "tell the operator of the server; a token for all namespaces sees the details"

// Outlined returns an ailment without details: its text and its remedy contain no path, no address, and no name of a run or key.
func (a Ailment) Outlined() Ailment {
	if a.What, a.Fix = outlines()[a.Reason], OutlinedFix; a.Partial {
		a.What = "a part of the store is damaged"
	}
	return a
}

// Refusing is the set of operations that a store refuses because of an Ailment. Each value includes the values before it.
type Refusing int

// Values of Refusing.
const (
	RefusesNothing Refusing = iota
	RefusesStarts           // new runs; runs in progress continue
	RefusesGrowth           // operations that need more space; runs in progress continue and can be deleted
	RefusesWrites
	RefusesAll
)

// Refuses returns the operations that a store with these ailments refuses.
func Refuses(all []Ailment) Refusing {
	most := RefusesNothing
	for _, a := range all {
		most = max(most, a.Refuses)
	}
	return most
}

// Mute returns the worst ailment of a store that takes no word from workers, if it has one: they cannot announce themselves, prolong leases or note
// polls. A worker that is not heard of is not gone for that reason.
func Mute(all []Ailment) (worst Ailment, mute bool) {
	for _, a := range all {
		if a.Refuses >= RefusesGrowth && a.Refuses > worst.Refuses {
			worst, mute = a, true
		}
	}
	return worst, mute
}

// Diagnoser is a store that can diagnose the errors of its own operations without an examination.
type Diagnoser interface {
	// Diagnose returns the ailment that an error of one of its operations indicates. known is false if the error indicates no ailment.
	Diagnose(err error) (a Ailment, known bool)
}

// UnheardError reports that the presence of workers cannot be determined: the store refuses writes, so workers cannot announce themselves.
type UnheardError struct{ Ailment }

func (e *UnheardError) Error() string { return "it is not known which workers are there: " + e.What }

// ExamineWithin returns the findings of examine, or the silent ailment if ctx ends first.
func ExamineWithin(ctx context.Context, silent Ailment, examine func() []Ailment) []Ailment {
	found := make(chan []Ailment, 1)
	go func() { found <- examine() }()
	select {
	case all := <-found:
		return all
	case <-ctx.Done():
		silent.Reason, silent.Refuses = Silent, RefusesAll
		return []Ailment{silent}
	}
}
