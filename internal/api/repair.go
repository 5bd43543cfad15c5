package api

import "github.com/swrun/swrun/runtime/client"

// Repair is the result of a comparison of all runs with the indexes of the store.
type Repair struct {
	DryRun   bool     `json:"dryRun"`
	Compared int      `json:"compared"` // runs
	Wrong    int      `json:"wrong"`    // entries of indexes
	Repaired []string `json:"repaired"` // the repaired entries, for people
}

// RepairScope specifies the compared runs, and whether the repair changes anything.
type RepairScope struct {
	Run       string // only this run, namespace/id; empty for more than one
	Namespace string // only the runs of this namespace; empty for all
	DryRun    bool
}

// NewRepair returns the JSON of a repair.
func NewRepair(r client.Repair, dry bool) Repair {
	repair := Repair{DryRun: dry, Compared: r.Compared, Wrong: r.Wrong, Repaired: []string{}}
	repair.Repaired = append(repair.Repaired, r.Repaired...)
	return repair
}
