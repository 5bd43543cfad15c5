package simulation

import "github.com/swrun/swrun/runtime/store"

// bug is something wrong that is planted to see whether it is found. The zero value is none.
type bug struct {
	name  string
	store func(*world) store.Store // a store that does not keep the contract
	hasty bool                     // outbox entries are deleted before they are delivered
	from  uint64                   // the seed to begin with, if it takes many to find it; 0 for the first
}
