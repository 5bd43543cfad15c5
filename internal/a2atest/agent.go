// Package a2atest contains an agent of the A2A protocol for tests and examples, with the protocol's own library.
package a2atest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
	"github.com/a2aproject/a2a-go/a2asrv/push"
)

// RPC is the path of the agent's JSON-RPC. Its card is at the standard path of cards.
const RPC = "/rpc"

// Card returns the card of an agent at a URL.
func Card(url string) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name: "greeter", Description: "Greets, and counts", URL: url + RPC, Version: "1.0.0", ProtocolVersion: "0.3.0",
		PreferredTransport: a2a.TransportProtocolJSONRPC, Capabilities: a2a.AgentCapabilities{Streaming: true, PushNotifications: true},
		DefaultInputModes: []string{"text"}, DefaultOutputModes: []string{"text"},
		Skills: []a2a.AgentSkill{{ID: "greet", Name: "Greet", Description: "Greets whoever says a name"}}, SupportsAuthenticatedExtendedCard: true,
	}
}

// Agent is an agent whose behaviour depends on the message. "count N" is a task with N artifacts, "wait" is a task that lasts until it is cancelled,
// "fail" is an error, and everything else is a greeting.
type Agent struct {
	mux   *http.ServeMux
	Began chan struct{} // receives a value when it begins to wait
	Cut   chan struct{} // receives a value when a request ends before its answer
}

// New returns an agent with a card.
func New(card *a2a.AgentCard) *Agent {
	g := &Agent{mux: http.NewServeMux(), Began: make(chan struct{}, 1), Cut: make(chan struct{}, 1)}
	extended := *card
	extended.Description = "Greets, counts, and waits"
	handler := a2asrv.NewHandler(g, a2asrv.WithExtendedAgentCard(&extended), a2asrv.WithLogger(slog.New(slog.DiscardHandler)),
		a2asrv.WithPushNotifications(push.NewInMemoryStore(), silentSender{}))
	speaks := a2asrv.NewJSONRPCHandler(handler)
	g.mux.HandleFunc(RPC, func(w http.ResponseWriter, r *http.Request) {
		defer context.AfterFunc(r.Context(), func() { note(g.Cut) })()
		speaks.ServeHTTP(w, r)
	})
	g.mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	return g
}

// ServeHTTP implements http.Handler.
func (g *Agent) ServeHTTP(w http.ResponseWriter, r *http.Request) { g.mux.ServeHTTP(w, r) }

// Execute answers a message.
func (g *Agent) Execute(ctx context.Context, asked *a2asrv.RequestContext, answers eventqueue.Queue) error {
	said := ""
	for _, part := range asked.Message.Parts {
		if text, ok := part.(a2a.TextPart); ok {
			said += text.Text
		}
	}
	var n int
	switch _, err := fmt.Sscanf(said, "count %d", &n); {
	case err == nil:
		return g.count(ctx, asked, answers, n)
	case said == "wait":
		return g.wait(ctx, asked, answers)
	case said == "fail":
		return fmt.Errorf("it does not work: %w", a2a.ErrInvalidParams)
	}
	answer := a2a.NewMessageForTask(a2a.MessageRoleAgent, asked, a2a.TextPart{Text: "Hello, " + strings.TrimSpace(said)})
	answer.Metadata = map[string]any{"messageId": asked.Message.ID, "role": asked.Message.Role}
	return answers.Write(ctx, answer)
}

func (g *Agent) count(ctx context.Context, asked *a2asrv.RequestContext, answers eventqueue.Queue, n int) error {
	events := []a2a.Event{a2a.NewSubmittedTask(asked, asked.Message), a2a.NewStatusUpdateEvent(asked, a2a.TaskStateWorking, nil)}
	for i := range n {
		events = append(events, a2a.NewArtifactEvent(asked, a2a.TextPart{Text: fmt.Sprint(i + 1)}))
	}
	last := a2a.NewStatusUpdateEvent(asked, a2a.TaskStateCompleted, nil)
	last.Final = true
	return write(ctx, answers, append(events, last)...)
}

// wait lasts until the task is cancelled, and reports its progress at intervals.
func (g *Agent) wait(ctx context.Context, asked *a2asrv.RequestContext, answers eventqueue.Queue) error {
	task := a2a.NewSubmittedTask(asked, asked.Message)
	task.Status = a2a.NewStatusUpdateEvent(asked, a2a.TaskStateWorking, nil).Status
	if err := write(ctx, answers, task); err != nil {
		return err
	}
	note(g.Began)
	now := time.NewTicker(10 * time.Millisecond)
	defer now.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-now.C:
			if err := write(ctx, answers, a2a.NewStatusUpdateEvent(asked, a2a.TaskStateWorking, nil)); err != nil {
				return err
			}
		}
	}
}

// Cancel ends a task.
func (g *Agent) Cancel(ctx context.Context, asked *a2asrv.RequestContext, answers eventqueue.Queue) error {
	last := a2a.NewStatusUpdateEvent(asked, a2a.TaskStateCanceled, nil)
	last.Final = true
	return write(ctx, answers, last)
}

func write(ctx context.Context, answers eventqueue.Queue, events ...a2a.Event) error {
	for _, event := range events {
		if err := answers.Write(ctx, event); err != nil {
			return err
		}
	}
	return nil
}

func note(happened chan struct{}) {
	select {
	case happened <- struct{}{}:
	default: // the channel has a value already
	}
}

// silentSender sends no notifications.
type silentSender struct{}

// SendPush implements push.Sender.
func (silentSender) SendPush(context.Context, *a2a.PushConfig, *a2a.Task) error { return nil }
