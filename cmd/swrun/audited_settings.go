package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/swrun/swrun/internal/api"
)

// This file notes changes of what a deployment has beside its runs: settings, tokens, queues, schedules, events and dead letters.

// Publish implements deployment. What events say is no matter of an audit: their types and ids are noted.
func (a *audited) Publish(ctx context.Context, all []map[string]any, namespaces []string) (api.Published, error) {
	var names []string
	for _, e := range all {
		names = append(names, fmt.Sprint(e["type"])+" "+fmt.Sprint(e["id"]))
	}
	return noted(ctx, a, change{operation: "publishEvents", subject: strings.Join(names, ", ")}, func() (api.Published, error) { return a.Control.Publish(ctx, all, namespaces) })
}

// RetryDeadMessages implements deployment.
func (a *audited) RetryDeadMessages(ctx context.Context, chosen api.DeadMessageChoice, namespaces []string) ([]api.DeadMessageResult, error) {
	return noted(ctx, a, change{"retryDeadMessages", strings.Join(chosen.IDs, " "), chosen.Reason}, func() ([]api.DeadMessageResult, error) {
		return a.Control.RetryDeadMessages(ctx, chosen, namespaces)
	})
}

// DropDeadMessages implements deployment.
func (a *audited) DropDeadMessages(ctx context.Context, chosen api.DeadMessageChoice, namespaces []string) ([]api.DeadMessageResult, error) {
	return noted(ctx, a, change{"dropDeadMessages", strings.Join(chosen.IDs, " "), chosen.Reason}, func() ([]api.DeadMessageResult, error) {
		return a.Control.DropDeadMessages(ctx, chosen, namespaces)
	})
}
