package api

import "github.com/swrun/swrun/runtime/client"

// Repair is what a comparison of all runs with the indexes of the store has found.
type Repair struct {
	DryRun   bool     `json:"dryRun"`
	Compared int      `json:"compared"` // runs
	Wrong    int      `json:"wrong"`    // entries of indexes
	Repaired []string `json:"repaired"` // what was wrong, for people
}

// NewRepair returns the JSON of a repair.
func NewRepair(r client.Repair, dry bool) Repair {
	repair := Repair{DryRun: dry, Compared: r.Compared, Wrong: r.Wrong, Repaired: []string{}}
	repair.Repaired = append(repair.Repaired, r.Repaired...)
	return repair
}
