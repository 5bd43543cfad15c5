package api

import (
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// MigrationRequest specifies the migration of runs to another version of their workflow.
type MigrationRequest struct {
	To     string            `json:"to" doc:"The version, or latest." example:"2.0.0"`
	Map    map[string]string `json:"map,omitempty" doc:"The new pointers of moved tasks, by their old pointers. The tasks inside a moved task move with it."`
	DryRun bool              `json:"dryRun,omitempty" doc:"Nothing is changed: only whether it is possible now is answered."`
	Reason string            `json:"reason,omitempty" doc:"Why, for the histories of the runs."`
}

// Migration returns the request for the client.
func (r MigrationRequest) Migration() client.Migration {
	m := client.Migration{To: r.To, Reason: r.Reason, Dry: r.DryRun}
	for old, to := range r.Map {
		if m.Map == nil {
			m.Map = interpreter.PointerMap{}
		}
		m.Map[dsl.Pointer(old)] = dsl.Pointer(to)
	}
	return m
}

// BulkMigration migrates several runs to another version of their workflow.
type BulkMigration struct {
	BulkRequest
	To  string            `json:"to" doc:"The version, or latest." example:"2.0.0"`
	Map map[string]string `json:"map,omitempty" doc:"The new pointers of moved tasks, by their old pointers. The tasks inside a moved task move with it."`
}

// Request returns the request for each of the runs.
func (b BulkMigration) Request() MigrationRequest {
	return MigrationRequest{To: b.To, Map: b.Map, DryRun: b.DryRun, Reason: b.Reason}
}

// Migrated is a run that is to continue with another definition.
type Migrated struct {
	Started
	From   Pinned `json:"from"`
	To     Pinned `json:"to"`
	DryRun bool   `json:"dryRun,omitempty"` // nothing was changed
}

// Pinned is the definition of a run.
type Pinned struct {
	Workflow   string `json:"workflow"`
	Definition string `json:"definition"` // its digest
}

// NewMigrated returns the JSON of a run that is to continue with another definition.
func NewMigrated(i store.Instance, m client.Migrated, dry bool) Migrated {
	from, to := Pinned{m.From.Workflow.String(), m.From.Definition}, Pinned{m.To.Workflow.String(), m.To.Definition}
	return Migrated{NewStarted(i), from, to, dry}
}
