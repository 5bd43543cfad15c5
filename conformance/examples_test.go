package conformance

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/local"
	"github.com/swrun/swrun/runtime/schedule"
)

// examplesFolder is the folder of the specification's examples, beside the checkout.
const examplesFolder = "../../shared/spec/examples"

// exampleRun is an example of the specification and its result: an output or a fault.
type exampleRun struct {
	file  string
	input string // {} unless given
	// output is the exact output, fault the members of the error that must be equal.
	output, fault string
	elapsed       string // of virtual time, if it matters
	arrivals      string // events that reach it, as in arrivals.json of a case
}

// exampleRuns returns all of the examples. The handlers of standin_test.go answer the calls of their tasks. Examples that start by events are started by their
// arrivals, unless they have an input: then they are run as if a person had started them, as examples that start at times are.
func exampleRuns() []exampleRun {
	const milou = `"name": "Milou", "photoUrls": [], "category": {"id": 1, "name": "dog"}`
	const search = `{"search": "search=luke+s", "accept": ""}`
	const notImplemented = `{"type": "https://serverlessworkflow.io/errors/not-implemented", "status": 500, "title": "Not Implemented",
		"detail": "The workflow 'raise-not-implemented:0.1.0' is a work in progress and cannot be run yet", "instance": "/do/0/notImplemented"}`
	const exhausted = `{"type": "communication", "status": 503, "instance": "/do/0/tryGetPet/try/0/getPet"}`
	const vitals = `{"specversion": "1.0", "id": "1", "source": "/ward", "type": "com.fake-hospital.vitals.measurements.temperature", "data": {"temperature": 38}}
		{"specversion": "1.0", "id": "2", "source": "/ward", "type": "com.fake-hospital.vitals.measurements.bpm", "data": {"bpm": 50}}
		{"specversion": "1.0", "id": "3", "source": "/ward", "type": "com.fake-hospital.vitals.measurements.temperature", "data": {"temperature": 39}}`
	const readings = `{"source": "https://my.home.com/sensor", "type": "my.home.sensors.temperature", "roomid": "a", "data": {"reading": 20}}
		{"source": "https://my.home.com/sensor", "type": "my.home.sensors.humidity", "roomid": "a", "data": {"reading": 40}}`
	const trigger = `{"type": "other"} {"type": "io.serverlessworkflow.samples.events.trigger.v1", "data": {"by": "Ada"}}`
	return []exampleRun{
		{file: "authentication-bearer", input: `{"token": "t0ken"}`, output: `{"id": 1, "status": "available", ` + milou + `}`},
		{file: "authentication-bearer-uri-format", input: `{"token": "t0ken", "petId": 7}`, output: `{"id": 7, "status": "available", ` + milou + `}`},
		{file: "authentication-bearer-uri-format", input: `{"token": "wrong", "petId": 7}`, fault: `{"type": "communication", "status": 401}`},
		{file: "authentication-reusable", input: `{"token": "t0ken", "petId": 7}`, output: `{"id": 7, "status": "available", ` + milou + `}`},
		{file: "authentication-oauth2", input: `{"petId": 8}`, output: `{"id": 8, "status": "available", ` + milou + `}`},
		{file: "authentication-oauth2-secret", input: `{"petId": 9}`, output: `{"id": 9, "status": "available", ` + milou + `}`},
		{file: "authentication-oidc", input: `{"petId": 8}`, output: `{"id": 8, "status": "available", ` + milou + `}`},
		{file: "authentication-oidc-secret", input: `{"petId": 9}`, output: `{"id": 9, "status": "available", ` + milou + `}`},
		{file: "call-custom-function-cataloged", output: `"[information] Hello, world!"`},
		{file: "call-custom-function-inline", output: `{"id": 69, "status": "available", ` + milou + `}`},
		{file: "call-grpc", input: `{"user": {"preferredDisplayName": "Ada"}}`, output: `{"message": "Hello, Ada"}`},
		{file: "call-mcp", output: `{"content": [{"type": "text", "text": "{\"posted\":\"Hello, world! :wave:\"}"}], "structuredContent": {"posted": "Hello, world! :wave:"},
			"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "stand-in", "version": "1.0.0"}}}`},
		{file: "call-http-endpoint-interpolation", input: `{"petId": 2}`, output: `{"id": 2, "status": "available", ` + milou + `}`},
		{file: "call-http-endpoint-interpolation-shorthand", input: `{"petId": 2}`, output: `{"id": 2, "status": "available", ` + milou + `}`},
		{file: "call-http-query-headers-expressions", input: `{"searchQuery": "luke s"}`, output: `{"search": "search=luke+s", "accept": "application/json"}`},
		{file: "call-http-query-parameters", input: `{"searchQuery": "luke s"}`, output: search},
		{file: "call-http-query-parameters", fault: `{"type": "validation", "status": 400, "instance": "/"}`},
		{file: "call-http-redirect", input: `{"searchQuery": "luke s"}`, output: search},
		{file: "call-openapi", output: `[{"id": 1, "status": "available", ` + milou + `}]`},
		{file: "call-openapi-redirect", output: `[{"id": 1, "status": "available", ` + milou + `}]`},
		{file: "call-asyncapi-publish", input: `{"pet": {"id": 7}, "token": "t0ken"}`, output: `{"pet": {"id": 7}, "token": "t0ken"}`},
		{file: "accumulate-room-readings", arrivals: readings, fault: `{"type": "expression", "instance": "/do/0/consumeReading"}`}, // the output of listen is an array
		{file: "conditional-task", input: `{"customer": {"age": 17}}`, fault: `{"type": "https://superbet-casinos.com/customer/access-forbidden", "status": 400, "title": "Access Forbidden"}`},
		{file: "conditional-task", input: `{"customer": {"age": 18}}`, output: `{"sent": "{\"bet\":\".bet\",\"customer\":\".customer\"}"}`},
		{file: "do-multiple", input: `{"petId": 3}`, fault: `{"type": "expression", "status": 400, "instance": "/do/1/buyPet"}`},
		{file: "do-single", input: `{"petId": 3}`, output: `{"id": 3, "status": "available", ` + milou + `}`},
		{file: "for-inline-array", output: `{"processed": [{"name": "red", "hex": "#FF0000"}, {"name": "green", "hex": "#00FF00"}, {"name": "blue", "hex": "#0000FF"}]}`},
		{file: "fork", input: `{"patient": {"fullName": "Ada"}, "room": {"number": 4}}`, output: `{"sent": "{\"patientId\":\"Ada\",\"room\":4}"}`},
		// The example applies startswith to an object: its endpoint has a uri.
		{file: "mock-service-extension", fault: `{"type": "expression", "instance": "/do/0/callHttp"}`},
		{file: "raise-inline", fault: notImplemented},
		{file: "raise-reusable", fault: notImplemented},
		{file: "run-container", output: `"Hello from Docker!"`},
		{file: "run-container-cleanup-always", output: `"Hello from Docker!"`},
		{file: "run-container-cleanup-eventually", output: `"Hello from Docker!"`},
		{file: "run-container-with-pull-policy", output: `"Hello from Docker!"`},
		{file: "run-container-with-name", output: `"Hello from Docker!"`},
		{file: "run-container-stdin-and-arguments", output: `"STDIN was: Hello World\nARGS are Foo Bar"`},
		{file: "run-return-all", output: `{"code": 0, "stdout": "Hello from Docker!", "stderr": ""}`},
		{file: "run-return-code", output: `0`},
		{file: "run-return-none", output: `{}`},
		{file: "run-return-stderr", output: `""`},
		{file: "run-script-with-stdin-and-arguments", output: `"stdin >  Hello Workflow\narg >  hello\nenv >  bar"`},
		{file: "run-shell-stdin-and-arguments", output: `"STDIN was: Hello World\nARGS are Foo Bar"`},
		{file: "run-subflow", fault: `{"type": "configuration", "status": 400, "instance": "/do/0/registerCustomer"}`},
		{file: "schedule-cron", output: `{"sent": ""}`},
		{file: "schedule-event-driven", input: `[{"data": {"patient": {"id": 1, "name": "Ada", "room": {"number": 4}, "vitals": {"bpm": 20}}, "timestamp": "now"}}]`,
			output: `{"sent": "{\"message\":\"Alert: Patient's heartbeat is critically low. Immediate attention required.\",\"patientId\":1,\"patientName\":\"Ada\",\"roomNumber\":4,\"vitals\":{\"heartRate\":20,\"timestamp\":\"now\"}}"}`},
		// The example reads events, but receives only their data.
		{file: "schedule-event-driven", arrivals: `{"type": "other"} {"type": "com.example.hospital.events.patients.heartbeat.low", "data": {"patient": {"id": 1}}}`,
			output: `{"sent": "{\"message\":\"Alert: Patient's heartbeat is critically low. Immediate attention required.\",\"patientId\":null,\"patientName\":null,\"roomNumber\":null,\"vitals\":{\"heartRate\":null,\"timestamp\":null}}"}`},
		{file: "set", arrivals: trigger, output: `{"startEvent": {"by": "Ada"}}`},
		{file: "set-expression", arrivals: trigger, output: `{"by": "Ada"}`},
		{file: "star-wars-homeworld", input: `{"id": 1}`, output: `{"name": "Tatooine"}`},
		{file: "switch-then-string", input: `{"orderType": "electronic"}`, output: `{"validate": true, "status": "fulfilled"}`},
		{file: "switch-then-string", input: `{"orderType": "physical"}`, output: `{"inventory": "clear", "items": 1, "address": "Elmer St"}`},
		{file: "switch-then-string", output: `{"log": "warn", "message": "something's wrong"}`},
		{file: "try-catch", input: `{"petId": "none"}`, output: `{"petId": "none"}`},
		{file: "try-catch-retry-inline", input: `{"petId": 503}`, fault: exhausted, elapsed: "186s"},
		{file: "try-catch-retry-reusable", input: `{"petId": 503}`, fault: exhausted, elapsed: "186s"},
		{file: "try-catch-then", input: `{"petId": "none"}`, output: `{"error": "$error"}`},
		{file: "try-catch-then-directive", output: `{"status": "failed"}`},
		{file: "wait-duration-inline", output: `{}`, elapsed: "30s"},
		{file: "wait-duration-iso8601", output: `{}`, elapsed: "30s"},
		{file: "emit", output: `{"specversion": "1.0", "id": "e956f890-c77c-874f-a233-7b8a83aee482", "source": "https://petstore.com", "type": "com.petstore.order.placed.v1",
			"time": "2026-01-31T09:30:00Z", "datacontenttype": "application/json",
			"data": {"client": {"firstName": "Cruella", "lastName": "de Vil"}, "items": [{"breed": "dalmatian", "quantity": 101}]}}`},
		{file: "for", input: `{"pets": [{"id": 1}], "vet": {}}`, arrivals: `{"type": "com.fake.petclinic.pets.checkup.completed.v2"}`, fault: `{"type": "expression", "instance": "/do/0/checkup/do/0/waitForCheckup"}`}, // the output of listen is an array
		{file: "listen-to-all", arrivals: vitals, output: `[{"bpm": 50}, {"temperature": 39}]`},
		{file: "listen-to-all read-envelope", arrivals: vitals, output: `[{"specversion": "1.0", "id": "2", "source": "/ward", "type": "com.fake-hospital.vitals.measurements.bpm", "data": {"bpm": 50}},
			{"specversion": "1.0", "id": "3", "source": "/ward", "type": "com.fake-hospital.vitals.measurements.temperature", "data": {"temperature": 39}}]`},
		{file: "listen-to-any-filter", arrivals: vitals, output: `[{"bpm": 50}]`},
		{file: "listen-to-any-forever-foreach", input: `{"roomId": 4}`, arrivals: vitals, fault: `{"type": "expression", "instance": "/do/0/listenToGossips/foreach/do/0/postToChatApi"}`}, // the room is no part of the event
		{file: "listen-to-any-until-condition", arrivals: vitals + `{"type": "a", "data": 4} {"type": "b", "data": 5}`, output: `[{"temperature": 38}, {"bpm": 50}, {"temperature": 39}, 4]`},
		{file: "listen-to-any-until-consumed", arrivals: vitals + `{"type": "com.fake-hospital.patient.checked-out"}`, output: `[{"bpm": 50}, {"temperature": 39}]`},
		{file: "listen-to-any", arrivals: vitals, output: `[{"temperature": 38}]`},
		{file: "listen-to-one", arrivals: `{"type": "com.virtual-wf-powered-race.events.race.started.v1", "data": {"carId": 5}}`, fault: `{"type": "expression", "instance": "/do/1/startup"}`}, // nothing says which car
	}
}

// TestOfficialExamples runs all of the specification's examples.
func TestOfficialExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(examplesFolder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Skip("the specification's examples are not beside the checkout (" + examplesFolder + ")")
	}
	run := map[string]bool{}
	for _, e := range exampleRuns() {
		run[e.file] = true
		t.Run(strings.TrimSpace(e.file+" "+e.input), func(t *testing.T) { e.verify(t) })
	}
	for _, e := range messageExamples() {
		run[e.file] = true
		t.Run(e.file, func(t *testing.T) { e.verify(t) })
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".yaml"); !run[name] {
			t.Errorf("the example %s is not run", name)
		}
	}
	t.Logf("%d examples, %d run", len(files), len(run))
}

func (e exampleRun) verify(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(examplesFolder, e.file+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	o := newOutside(nil)
	p, diagnostics := load(e.file, string(text), o.config)
	if err := diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	var input any
	if e.input != "" {
		input = mustDecode(t, e.input)
	}
	c := testCase{files: map[string]string{"error.json": e.fault, "elapsed.txt": e.elapsed, "arrivals.json": e.arrivals}}
	events := c.arrivals(t)
	if s := p.Workflow.Schedule; s != nil && s.On != nil && e.input == "" {
		input, events = begins(t, p.Workflow, events)
	}
	outcome, err := local.Run(context.Background(), p, input, local.Config{ID: "example", Virtual: true, Now: epoch, Arrivals: events})
	if err != nil {
		t.Fatal(err)
	}
	if e.output != "" {
		c.files["output.json"] = e.output
	}
	c.verify(t, ending{status: outcome.Status, output: outcome.Output, fault: outcome.Fault, elapsed: outcome.EndedAt.Sub(outcome.StartedAt)})
}

// begins returns the input of a workflow that events start, and the events that arrive after the start.
func begins(t *testing.T, w *dsl.Workflow, events []local.Arrival) (any, []local.Arrival) {
	t.Helper()
	forecast, err := schedule.NewForecast(w, func(d definition.Definition) (*interpreter.Program, error) {
		p, found := load(d.Name(), d.Document, newOutside(nil).config)
		return p, found.Err()
	}, epoch())
	if err != nil {
		t.Fatal(err)
	}
	for n, one := range events {
		begun, err := forecast.Arrived(one.Event, epoch())
		if err != nil {
			t.Fatal(err)
		}
		if len(begun) > 0 {
			return begun[0].Input, events[n+1:]
		}
	}
	t.Fatal("the events start nothing")
	return nil, nil
}
