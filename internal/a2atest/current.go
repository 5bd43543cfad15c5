package a2atest

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
)

// CurrentCard returns the card of an agent of version 1.0 at a URL.
func CurrentCard(url string) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name: "greeter", Description: "Greets, and counts", Version: "1.0.0",
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(url+"/grpc", a2a.TransportProtocolGRPC), a2a.NewAgentInterface(url+RPC, a2a.TransportProtocolJSONRPC)},
		Capabilities:        a2a.AgentCapabilities{Streaming: true, PushNotifications: true, ExtendedAgentCard: true},
		DefaultInputModes:   []string{"text"}, DefaultOutputModes: []string{"text"},
		Skills: []a2a.AgentSkill{{ID: "greet", Name: "Greet", Description: "Greets whoever says a name", Tags: []string{}}},
	}
}

// NewCurrent returns an agent of version 1.0. "count N" is a task with N artifacts, "wait" is a task that waits for another message, "fail" is an
// error, and everything else is a greeting.
func NewCurrent(card *a2a.AgentCard) http.Handler {
	handler := a2asrv.NewHandler(currentAgent{}, a2asrv.WithExtendedAgentCard(card), a2asrv.WithLogger(slog.New(slog.DiscardHandler)),
		a2asrv.WithPushNotifications(push.NewInMemoryStore(), silentCurrent{}), a2asrv.WithCapabilityChecks(&card.Capabilities),
		a2asrv.WithTaskStore(taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{Authenticator: func(context.Context) (string, error) { return "everybody", nil }})))
	mux := http.NewServeMux()
	mux.Handle(RPC, a2asrv.NewJSONRPCHandler(handler))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	return mux
}

type currentAgent struct{}

// Execute implements a2asrv.AgentExecutor.
func (currentAgent) Execute(_ context.Context, asked *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	said := ""
	for _, part := range asked.Message.Parts {
		said += part.Text()
	}
	return func(yield func(a2a.Event, error) bool) {
		var n int
		switch _, err := fmt.Sscanf(said, "count %d", &n); {
		case err == nil:
			count(asked, n, yield)
		case said == "wait":
			if yield(a2a.NewSubmittedTask(asked, asked.Message), nil) {
				yield(a2a.NewStatusUpdateEvent(asked, a2a.TaskStateInputRequired, nil), nil)
			}
		case said == "fail":
			yield(nil, fmt.Errorf("it does not work: %w", a2a.ErrInvalidParams))
		default:
			answer := a2a.NewMessageForTask(a2a.MessageRoleAgent, asked, a2a.NewTextPart("Hello, "+strings.TrimSpace(said)))
			answer.Metadata = map[string]any{"messageId": asked.Message.ID, "role": string(asked.Message.Role)}
			yield(answer, nil)
		}
	}
}

func count(asked *a2asrv.ExecutorContext, n int, yield func(a2a.Event, error) bool) {
	events := []a2a.Event{a2a.NewSubmittedTask(asked, asked.Message)}
	for i := range n {
		events = append(events, a2a.NewArtifactEvent(asked, a2a.NewTextPart(fmt.Sprint(i+1))))
	}
	for _, event := range append(events, a2a.NewStatusUpdateEvent(asked, a2a.TaskStateCompleted, nil)) {
		if !yield(event, nil) {
			return
		}
	}
}

// Cancel implements a2asrv.AgentExecutor.
func (currentAgent) Cancel(_ context.Context, asked *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(asked, a2a.TaskStateCanceled, nil), nil)
	}
}

// silentCurrent sends no notifications.
type silentCurrent struct{}

// SendPush implements push.Sender.
func (silentCurrent) SendPush(context.Context, *a2a.PushConfig, a2a.Event) error { return nil }
