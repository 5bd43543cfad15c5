package definition

import "github.com/swrun/swrun/runtime/store"

// Ailment returns an ailment of the store as callers with this grant may know it. Paths, addresses and keys are for a grant of all namespaces.
func (g Granted) Ailment(a store.Ailment) store.Ailment {
	if g == nil {
		return a
	}
	return a.Outlined()
}

// Failure returns the text of an error of the store as callers with this grant may know it, and its remedy. The remedy is fix for a grant of all namespaces.
func (g Granted) Failure(err error, fix string) (what, remedy string) {
	if g == nil {
		return err.Error(), fix
	}
	return "the store does not answer this now", store.OutlinedFix
}
