package simulation

import "github.com/swrun/swrun/runtime/store"

// bug is a planted bug, to test whether the audits find it. The zero value is no bug.
type bug struct {
	name  string
	store func(*world) store.Store // a store that breaks the contract
	hasty bool                     // outbox entries are deleted before they are delivered
	from  uint64                   // the seed to begin with, if many seeds do not find it; 0 for the first
}
