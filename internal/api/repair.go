package api

import (
	"fmt"

	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// Repair is the result of a comparison of all runs with the indexes of the store.
type Repair struct {
	DryRun   bool     `json:"dryRun"`
	Compared int      `json:"compared"` // runs
	Wrong    int      `json:"wrong"`    // entries of indexes
	Repaired []string `json:"repaired"` // the repaired entries, for people
	// Unreadable describes the runs that cannot be read, with their remedies, for people. They remain as they are.
	Unreadable []string `json:"unreadable"`
}

// RepairScope specifies the compared runs, and whether the repair changes anything.
type RepairScope struct {
	Run       string // only this run, namespace/id; empty for more than one
	Namespace string // only the runs of this namespace; empty for all
	DryRun    bool
}

// NewRepair returns the JSON of a repair.
func NewRepair(r client.Repair, dry bool) Repair {
	repair := Repair{DryRun: dry, Compared: r.Compared, Wrong: r.Wrong, Repaired: []string{}, Unreadable: []string{}}
	repair.Repaired = append(repair.Repaired, r.Repaired...)
	for _, u := range r.Unreadable {
		fix := "repair leaves it as it is, and nothing continues it: restore it from a backup"
		if store.RefusedAs(u.Err) == store.Newer {
			fix = "repair leaves it as it is: use the newer swrun for all workers"
		}
		repair.Unreadable = append(repair.Unreadable, fmt.Sprintf("%s (%s)", u.Err, fix))
	}
	return repair
}
