package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/eclipse/paho.golang/paho"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/asyncapi"
	brokerclient "github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/internal/brokers/brokertest"
	"github.com/swrun/swrun/interpreter"
)

// theWorld represents in files a text that is unique to a run of a case, so that each run has its own channels.
const theWorld = "WORLD"

// worlds counts runs of cases.
var worlds atomic.Int64

// feed is the messages that brokers send to a run: all of them after the end of its first effect of call_asyncapi, which has made the subscription.
type feed struct {
	world   string
	text    string   // of messages.json
	handles []string // the broker's handles of the received messages
	prepare func() error
	send    func() error
}

// feedMessage is a message of messages.json. Its payload is data, or unchanged text.
type feedMessage struct {
	Protocol, Channel string
	Payload           json.RawMessage
	Text              string
	ContentType       string
	CorrelationID     string
	Headers           map[string]string
	ID                string
	Again             bool // it is sent repeatedly as long as a run waits, over a broker that keeps no messages
}

func newFeed(files map[string]string) *feed {
	f := &feed{world: fmt.Sprintf("w%d", worlds.Add(1)), text: files["messages.json"]}
	f.prepare, f.send = sync.OnceValue(f.makeTopics), sync.OnceValue(f.publish)
	return f
}

// named returns the text of a file in this world.
func (f *feed) named(text string) string { return strings.ReplaceAll(text, theWorld, f.world) }

// naming returns a loader for the resources that runs of this world read.
func (f *feed) naming(load interpreter.Loader) interpreter.Loader {
	return func(ctx context.Context, uri string) (interpreter.Resource, error) {
		found, err := load(ctx, uri)
		found.Data = []byte(f.named(string(found.Data)))
		return found, err
	}
}

func (f *feed) messages() (all []feedMessage, err error) {
	decoder := json.NewDecoder(strings.NewReader(f.named(f.text)))
	for {
		var m feedMessage
		switch err := decoder.Decode(&m); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("messages.json: %w", err)
		}
		all = append(all, m)
	}
}

// survivesReconnecting reports whether unacknowledged messages arrive again immediately, and in order, over another connection. The local brokers of NATS
// and MQTT take a second, or any order.
func (f *feed) survivesReconnecting() bool {
	return f.text != "" && !strings.Contains(f.text, `"nats"`) && !strings.Contains(f.text, `"mqtt`)
}

// makeTopics makes the topics and queues that brokers of Kafka and AMQP need before a subscription.
func (f *feed) makeTopics() error {
	all, err := f.messages()
	if err != nil {
		return err
	}
	var topics, queues []string
	for _, m := range all {
		switch {
		case m.Protocol == "kafka" && !slices.Contains(topics, m.Channel):
			topics = append(topics, m.Channel)
		case m.Protocol == "amqp" && !slices.Contains(queues, m.Channel):
			queues = append(queues, m.Channel)
		}
	}
	if queues != nil {
		address, err := brokers.addressOf("amqp")
		if err != nil {
			return err
		}
		if err := brokertest.MakeQueues(address, queues...); err != nil {
			return err
		}
	}
	if topics == nil {
		return nil
	}
	if err := brokers.start(); err != nil {
		return err
	}
	return brokertest.MakeTopics(brokers.addresses["kafka.test"], topics...)
}

// publish publishes the messages.
func (f *feed) publish() error {
	all, err := f.messages()
	if err != nil || all == nil {
		return err
	}
	if err := brokers.start(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var overMQTT []*paho.Publish
	for _, m := range all {
		payload := m.payload()
		if strings.HasPrefix(m.Protocol, "mqtt") {
			p := &paho.Publish{Topic: m.Channel, QoS: 1, Payload: payload, Properties: &paho.PublishProperties{ContentType: m.ContentType, CorrelationData: []byte(m.CorrelationID)}}
			for name, value := range m.Headers {
				p.Properties.User.Add(name, value)
			}
			overMQTT = append(overMQTT, p)
			continue
		}
		if err := m.publish(ctx); err != nil {
			return err
		}
	}
	return brokertest.PublishMQTT(brokers.addresses["mqtt.test"], overMQTT...)
}

func (m *feedMessage) payload() []byte {
	if m.Payload != nil {
		return m.Payload
	}
	return []byte(m.Text)
}

// publish publishes a message over any protocol except MQTT.
func (m *feedMessage) publish(ctx context.Context) error {
	address, err := brokers.addressOf(m.Protocol)
	if err != nil {
		return err
	}
	client := &brokerclient.Client{
		Target: asyncapi.Target{Protocol: m.Protocol, Addresses: []string{address}, Channel: m.Channel},
		Dial:   new(net.Dialer).DialContext, MaxRead: 1 << 20,
	}
	if m.Protocol == "nats" {
		client.Token = "t0ken"
	}
	return client.Publish(ctx, brokerclient.Message{Payload: m.payload(), ContentType: m.ContentType, CorrelationID: m.CorrelationID, Headers: m.Headers, ID: m.ID})
}

// repeat publishes the messages that are sent repeatedly, until ctx ends.
func (f *feed) repeat(ctx context.Context) error {
	all, err := f.messages()
	if err != nil || !slices.ContainsFunc(all, func(m feedMessage) bool { return m.Again }) {
		return err
	}
	for ctx.Err() == nil {
		for _, m := range all {
			if err := m.publish(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// feeding returns kinds whose calls receive the messages. The runs of a case see equal names; for the brokers, the names of each run are different.
func (f *feed) feeding(kinds []interpreter.Kind) []interpreter.Kind {
	if f.text == "" {
		return kinds
	}
	for n, kind := range kinds {
		if kind.Kind == dsl.KindCallAsyncAPI {
			kinds[n].Perform = f.fed(kind.Perform)
		}
	}
	return kinds
}

func (f *feed) fed(perform interpreter.Performer) interpreter.Performer {
	return func(ctx context.Context, r interpreter.Request) (any, error) {
		if err := f.prepare(); err != nil {
			return nil, err
		}
		r.Key += f.world // as it would be in another deployment
		var err error
		if r.Body, err = f.inside(r.Body); err != nil {
			return nil, err
		}
		r.Prepared = nil
		waiting, over := context.WithCancel(ctx)
		repeated := make(chan error, 1)
		go func() { repeated <- f.repeat(waiting) }()
		result, err := perform(ctx, r)
		over()
		err = errors.Join(err, <-repeated)
		if fault := errors.AsError(err); fault != nil {
			fault.Detail = strings.ReplaceAll(fault.Detail, f.world, theWorld)
		}
		return f.outward(result), errors.Join(err, f.send())
	}
}

// inside returns a request for this world. Messages arrive one by one, so that runs of a case are equal.
func (f *feed) inside(body []byte) ([]byte, error) {
	decoded, err := expr.Decode([]byte(f.named(string(body))))
	if err != nil {
		return nil, err
	}
	if receive, ok := decoded.(map[string]any)["receive"].(map[string]any); ok {
		if receive["most"] != nil {
			receive["most"] = 1
		}
		for _, name := range []string{"done", "known"} {
			handles, _ := receive[name].([]any)
			for n, handle := range handles {
				if handles[n], err = f.handle(handle); err != nil {
					return nil, err
				}
			}
		}
		if unfit := receive["unfit"]; unfit != nil {
			if receive["unfit"], err = f.handle(unfit); err != nil {
				return nil, err
			}
		}
	}
	return expr.Encode(decoded)
}

// handle returns the broker's handle of a message.
func (f *feed) handle(here any) (string, error) {
	var at int
	if _, err := fmt.Sscanf(here.(string), "message %d", &at); err != nil {
		return "", err
	}
	return f.handles[at], nil
}

// outward returns a result that is equal in all worlds.
func (f *feed) outward(result any) any {
	switch v := result.(type) {
	case map[string]any:
		for name, value := range v {
			v[name] = f.outward(value)
		}
		if handle, ok := v["handle"].(string); ok {
			at := slices.Index(f.handles, handle)
			if at < 0 {
				at, f.handles = len(f.handles), append(f.handles, handle)
			}
			v["handle"] = fmt.Sprintf("message %d", at)
		}
	case []any:
		for n, value := range v {
			v[n] = f.outward(value)
		}
	case string:
		return strings.ReplaceAll(v, f.world, theWorld)
	}
	return result
}
