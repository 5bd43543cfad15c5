package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/interpreter"
)

// messageExample is an example of the specification that subscribes, with the messages that brokers send to it, and its expected result.
type messageExample struct {
	file     string
	document string // of AsyncAPI, to which the example refers
	messages string // as messages.json of a case
	endless  string // the content of endless.txt: the effect that waits in vain for more messages, for half an hour; may be empty
	// output is the output of an example that ends. An example that does not end is cancelled after an hour; it has emitted the events, or its records
	// have the counts.
	output, events, counts string
}

func messageExamples() []messageExample {
	const three = `
asyncapi: 3.0.0
servers: {things: {host: mqtt.test, protocol: mqtt}}
channels: {notifications: {address: notifications/WORLD}}
operations: {getNotifications: {action: send, channel: {$ref: '#/channels/notifications'}}}
`
	const two = `
asyncapi: 2.6.0
servers: {events: {url: kafka.test, protocol: kafka}}
channels: {/notifications: {subscribe: {}, bindings: {kafka: {topic: WORLD}}}}
`
	const web = `
asyncapi: 3.0.0
servers: {things: {host: ws.test, protocol: ws}}
channels: {notifications: {address: notifications/WORLD}}
operations: {getNotifications: {action: send, channel: {$ref: '#/channels/notifications'}}}
`
	const overWeb = `{"protocol": "ws", "channel": "notifications/WORLD", "payload": {"n": 1}}
`
	const twoMessages = `{"protocol": "mqtt", "channel": "notifications/WORLD", "payload": {"n": 1}}
		{"protocol": "mqtt", "channel": "notifications/WORLD", "payload": {"from": {"firstName": "Eve"}}}
		{"protocol": "mqtt", "channel": "notifications/WORLD", "payload": {"n": 2}}`
	const message = `{"payload": {"n": 1}, "headers": {}, "correlationId": null}`
	const effects = " effect.started /do/0/getNotifications"
	return []messageExample{
		{file: "call-asyncapi-subscribe-consume-amount", document: web, messages: strings.Repeat(overWeb, 5), output: "[" + strings.Repeat(message+",", 4) + message + "]"},
		{file: "call-asyncapi-subscribe-consume-forever-foreach", document: three, messages: twoMessages, endless: "/do/0/getNotifications 7",
			events: `[{"data": {"message": ` + message + `}}, {"data": {"message": {"payload": {"n": 2}, "headers": {}, "correlationId": null}}}]`},
		{file: "call-asyncapi-subscribe-consume-while", document: three, messages: twoMessages, endless: "/do/0/getNotifications 5", counts: "5" + effects},
		{file: "call-asyncapi-subscribe-consume-until", document: two, messages: `{"protocol": "kafka", "channel": "WORLD", "payload": {"n": 1}}`,
			endless: "/do/0/getNotifications 3", output: `[` + message + `]`, counts: "4" + effects},
	}
}

func (e messageExample) verify(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(examplesFolder, e.file+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c := testCase{files: map[string]string{
		"workflow.yaml": string(text), "https://fake.com/docs/asyncapi.json": e.document, "messages.json": e.messages, "endless.txt": e.endless, "counts.txt": e.counts,
	}}
	if e.events != "" {
		c.files["events.json"] = e.events
	}
	d := newDriver(t, c)
	if e.output == "" {
		d.cancel = d.now.Add(time.Hour)
	} else {
		c.files["output.json"] = e.output
		if e.endless != "" {
			c.files["elapsed.txt"] = "30m"
		}
	}
	d.run()
	ending := d.ending()
	if e.output != "" {
		c.verify(t, ending)
		return
	}
	if ending.status != interpreter.StatusCancelled {
		t.Fatalf("the run is %s: %v", ending.status, ending.fault)
	}
	c.verifyCounts(t, ending.records)
	c.verifyEvents(t, ending.events)
}
