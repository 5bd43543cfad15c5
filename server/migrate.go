package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/store"
)

type migrationInput struct {
	RunPath
	Body api.MigrationRequest
}

type migratedAnswer struct{ Body api.Migrated }

type bulkMigrationInput struct{ Body api.BulkMigration }

// migrationRoutes serves the operations that continue runs with another version of their workflow.
func (s *Server) migrationRoutes() {
	route(s, RoleOperator, huma.Operation{
		OperationID: "migrateRun", Method: http.MethodPost, Path: runPathPattern + "/migrate", Tags: []string{"runs"},
		Summary:     "Have a run in progress go on with another version of its workflow",
		Description: "What is in progress keeps its data and its deadlines. A run with a task in progress that has no place in that version is a problem with status 409. A worker carries it out, and looks again: the history says what has become of it.",
	}, func(ctx context.Context, in *migrationInput) (*migratedAnswer, error) {
		i, err := in.instance()
		if err != nil {
			return nil, err
		}
		exchangeOf(ctx).reason = in.Body.Reason
		migrated, failed := s.control.Migrate(ctx, []store.Instance{i}, in.Body)
		concernsRuns(ctx, []store.Instance{i}, failed, in.Body.DryRun)
		return &migratedAnswer{migrated[0]}, failed[0]
	})
	route(s, RoleOperator, huma.Operation{
		OperationID: "migrateRuns", Method: http.MethodPost, Path: runsPath + "/migrate", Tags: []string{"commands"},
		Summary:     "Have several runs go on with another version of their workflows",
		Description: "Nothing is promised of all together: the outcome of each run is listed.",
	}, func(ctx context.Context, in *bulkMigrationInput) (*bulkAnswer, error) {
		return s.bulk(ctx, &in.Body.BulkRequest, func(all []store.Instance) []error {
			_, failed := s.control.Migrate(ctx, all, in.Body.Request())
			return failed
		})
	})
}
