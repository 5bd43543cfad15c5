package main

import (
	"testing"

	"github.com/swrun/swrun/internal/api"
)

func TestTheVersionDeployedLast(t *testing.T) {
	for name, instants := range map[string][2]string{
		"fewer digits":         {"2026-01-01T00:00:00.45Z", "2026-01-01T00:00:00.457Z"},
		"a whole second":       {"2026-01-01T00:00:00Z", "2026-01-01T00:00:00.001Z"},
		"deployed long before": {"", "2026-01-01T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			earlier := api.WorkflowVersion{Version: "earlier", Deployment: api.Deployment{DeployedAt: instants[0]}}
			later := api.WorkflowVersion{Version: "later", Deployment: api.Deployment{DeployedAt: instants[1]}}
			for _, all := range [][]api.WorkflowVersion{{earlier, later}, {later, earlier}} {
				if last := deployedLast(all); last.Version != "later" {
					t.Errorf("of %v, %s is told as deployed last", instants, last.Version)
				}
			}
		})
	}
}
