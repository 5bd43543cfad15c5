package api

import "github.com/swrun/swrun/runtime/client"

// DeployResult is a document that was deployed, or only checked.
type DeployResult struct {
	Workflow   string     `json:"workflow"`
	Definition string     `json:"definition"` // its digest
	Deployed   bool       `json:"deployed" doc:"Whether exactly this document is deployed."`
	Runs       *RunsCheck `json:"runs,omitempty"`
}

// RunsCheck describes the future of the runs in progress of other versions.
type RunsCheck struct {
	Count    int        `json:"count" doc:"The number of open runs of another version. They continue with their version."`
	Versions []Group    `json:"versions" nullable:"false" doc:"How many have which."`
	Migrate  int        `json:"migrate" doc:"The number of runs that could continue with the document from their present position."`
	Refused  []Obstacle `json:"refused" nullable:"false" doc:"Why the others could not."`
}

// Obstacle is the reason why some runs cannot migrate.
type Obstacle struct {
	Reason   string   `json:"reason"`
	Count    int      `json:"count"`
	Examples []string `json:"examples" nullable:"false" doc:"Some of these runs."`
}

// NewDeployResult returns the JSON of a document, and of the runs in progress.
func NewDeployResult(r client.RunsCheck) DeployResult {
	runs := &RunsCheck{Count: r.Runs, Versions: []Group{}, Migrate: r.Ready, Refused: []Obstacle{}}
	for _, v := range r.Versions {
		runs.Versions = append(runs.Versions, Group{Value: v.Values[0], Count: v.Runs})
	}
	for _, o := range r.Refused {
		obstacle := Obstacle{Reason: o.Reason, Count: o.Runs}
		for _, i := range o.Examples {
			obstacle.Examples = append(obstacle.Examples, i.String())
		}
		runs.Refused = append(runs.Refused, obstacle)
	}
	return DeployResult{r.To.Workflow.String(), r.To.Definition, r.Deployed, runs}
}
