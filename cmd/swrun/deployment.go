package main

import (
	"context"

	"github.com/swrun/swrun/internal/api"
)

// deployment is what verbs ask: of a store that this process has opened (package control), or of a server (package remote). Both answer with
// the shapes of package api.
type deployment interface {
	Workers(context.Context) ([]api.Worker, error)

	IssueToken(context.Context, api.TokenRequest) (api.IssuedToken, error)
	ListTokens(context.Context) (api.TokenList, error)
	RevokeToken(ctx context.Context, name string) error

	Settings(context.Context) ([]api.Settings, error)
	NamespaceSettings(ctx context.Context, namespace string) (api.Settings, error)
	ChangeSettings(ctx context.Context, namespace string, c api.SettingsChange) (api.Settings, error)

	Workflows(ctx context.Context, namespace string) ([]api.Workflow, error)
	Workflow(ctx context.Context, namespace, name string) (api.Workflow, error)

	Queues(context.Context) ([]api.Queue, error)
	LimitQueue(ctx context.Context, name string, change api.QueueChange) (api.Queue, error)
	PauseQueue(ctx context.Context, name, reason string) (api.Queue, error)
	ResumeQueue(ctx context.Context, name, reason string) (api.Queue, error)

	Repair(ctx context.Context, dry bool) (api.Repair, error)
}
