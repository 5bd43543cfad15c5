package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/api"
)

// This file notes changes of what a deployment has beside its runs: settings, tokens, queues, schedules, events and dead letters.

// ChangeSettings implements deployment.
func (a *audited) ChangeSettings(ctx context.Context, namespace string, c api.SettingsChange) (api.Settings, error) {
	operation, words := "changeSettings", []string{}
	if namespace != "" {
		operation, words = "changeNamespaceSettings", []string{namespace}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Set)) {
		words = append(words, name+"="+c.Set[name])
	}
	for _, name := range c.Unset {
		words = append(words, name+" unset")
	}
	return noted(ctx, a, change{operation: operation, subject: strings.Join(words, " ")}, func() (api.Settings, error) {
		return a.Control.ChangeSettings(ctx, namespace, c)
	})
}

// IssueToken implements deployment.
func (a *audited) IssueToken(ctx context.Context, r api.TokenRequest) (api.IssuedToken, error) {
	of := strings.Join(r.Namespaces, ",")
	if r.AllNamespaces {
		of = "all namespaces"
	}
	return noted(ctx, a, change{operation: "issueToken", subject: strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Name, r.Role, of))}, func() (api.IssuedToken, error) {
		return a.Control.IssueToken(ctx, r)
	})
}

// RevokeToken implements deployment.
func (a *audited) RevokeToken(ctx context.Context, name string) error {
	err := a.Control.RevokeToken(ctx, name)
	a.note(ctx, change{operation: "revokeToken", subject: name}, err)
	return err
}

// PauseSchedule implements deployment.
func (a *audited) PauseSchedule(ctx context.Context, namespace, name, reason string) (api.Schedule, error) {
	return noted(ctx, a, change{"pauseSchedule", namespace + "/" + name, reason}, func() (api.Schedule, error) {
		return a.Control.PauseSchedule(ctx, namespace, name, reason)
	})
}

// ResumeSchedule implements deployment.
func (a *audited) ResumeSchedule(ctx context.Context, namespace, name string) (api.Schedule, error) {
	return noted(ctx, a, change{operation: "resumeSchedule", subject: namespace + "/" + name}, func() (api.Schedule, error) {
		return a.Control.ResumeSchedule(ctx, namespace, name)
	})
}

// TriggerSchedule implements deployment.
func (a *audited) TriggerSchedule(ctx context.Context, namespace, name string, t api.ScheduleTrigger) (api.Schedule, error) {
	return noted(ctx, a, change{operation: "triggerSchedule", subject: namespace + "/" + name}, func() (api.Schedule, error) {
		return a.Control.TriggerSchedule(ctx, namespace, name, t)
	})
}

// Publish implements deployment. What events say is no matter of an audit: their types and ids are noted.
func (a *audited) Publish(ctx context.Context, all []map[string]any, namespaces []string) (api.Published, error) {
	var names []string
	for _, e := range all {
		names = append(names, fmt.Sprint(e["type"])+" "+fmt.Sprint(e["id"]))
	}
	return noted(ctx, a, change{operation: "publishEvents", subject: strings.Join(names, ", ")}, func() (api.Published, error) { return a.Control.Publish(ctx, all, namespaces) })
}

// RetryDeadLetters implements deployment.
func (a *audited) RetryDeadLetters(ctx context.Context, sink string, chosen api.DeadLetterChoice) (api.Sink, error) {
	return noted(ctx, a, change{"retryDeadLetters", strings.Join(append([]string{sink}, chosen.IDs...), " "), chosen.Reason}, func() (api.Sink, error) {
		return a.Control.RetryDeadLetters(ctx, sink, chosen)
	})
}

// DropDeadLetters implements deployment.
func (a *audited) DropDeadLetters(ctx context.Context, sink string, chosen api.DeadLetterChoice) (api.Sink, error) {
	return noted(ctx, a, change{"dropDeadLetters", strings.Join(append([]string{sink}, chosen.IDs...), " "), chosen.Reason}, func() (api.Sink, error) {
		return a.Control.DropDeadLetters(ctx, sink, chosen)
	})
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
