package cloudevent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudevents/sdk-go/v2/event"

	"github.com/swrun/swrun/internal/cloudevent"
)

// The reasons why Check differs from the library of CloudEvents.
const (
	numberOfAnySize = "extensions may be any number: what JSON has is kept"
	either          = "which of them is the data (CloudEvents 1.0, JSON Format 3.1)"
	lower           = "names are of lower case letters (CloudEvents 1.0, Naming Conventions)"
	empty           = "an attribute that is there must not be empty (CloudEvents 1.0, Context Attributes)"
	control         = "control characters must not be part of text (CloudEvents 1.0, Type System)"
)

// TestCheckAgreesWithTheLibrary: Check and the library of CloudEvents agree about events, except for documented differences.
func TestCheckAgreesWithTheLibrary(t *testing.T) {
	for _, c := range []struct{ members, differs string }{
		{``, ""},
		{`"id": null`, ""}, {`"id": ""`, ""}, {`"id": " "`, ""}, {`"id": 5`, ""}, {`"id": {}`, ""}, {`"id": "a\nb"`, control},
		{`"source": ""`, ""}, {`"source": "not a uri %zz"`, ""}, {`"source": "urn:x:y"`, ""}, {`"source": "#5"`, ""}, {`"source": "/a b"`, ""}, {`"source": "` + strings.Repeat("x", 5000) + `"`, ""},
		{`"type": ""`, ""}, {`"type": 1`, ""}, {`"type": "ключ"`, ""},
		{`"specversion": "1.1"`, ""}, {`"specversion": 1`, ""}, {`"specversion": ""`, ""}, {`"specversion": "0.2"`, ""},
		{`"subject": ""`, empty}, {`"subject": "x"`, ""}, {`"subject": 7`, ""},
		{`"time": "2026-01-31T12:00:00Z"`, ""}, {`"time": "2026-01-31T12:00:00.123456789+05:30"`, ""}, {`"time": "2026-01-31"`, ""}, {`"time": "soon"`, ""}, {`"time": 5`, ""}, {`"time": "2026-13-31T12:00:00Z"`, ""},
		{`"dataschema": "https://example.com/s"`, ""}, {`"dataschema": "s"`, ""}, {`"dataschema": ""`, empty}, {`"dataschema": "urn:s"`, ""},
		{`"datacontenttype": "application/json"`, ""}, {`"datacontenttype": "text/plain; charset=utf-8"`, ""}, {`"datacontenttype": ""`, empty}, {`"datacontenttype": "a;b"`, ""}, {`"datacontenttype": 5`, ""},
		{`"data": null`, ""}, {`"data": 5`, ""}, {`"data": {"a": [{}]}`, ""}, {`"data": ""`, ""},
		{`"data_base64": "eA=="`, ""}, {`"data_base64": "?"`, ""}, {`"data_base64": 5`, ""}, {`"data": 1, "data_base64": "eA=="`, either},
		{`"shop": "x"`, ""}, {`"shop": 5`, ""}, {`"shop": -1`, ""}, {`"shop": 1.5`, ""}, {`"shop": 3000000000`, numberOfAnySize}, {`"shop": true`, ""}, {`"shop": ""`, ""},
		{`"shop": {}`, ""}, {`"shop": []`, ""}, {`"shop": {"a": 1}`, ""}, {`"shop": "a\u0000b"`, control},
		{`"Shop": "x"`, lower}, {`"a_b": "x"`, ""}, {`"a-b": "x"`, ""}, {`"": "x"`, ""}, {`"größe": "x"`, ""}, {`"5": "x"`, ""}, {`"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`, ""},
	} {
		text := `{"specversion": "1.0", "id": "1", "source": "/s", "type": "t"`
		given := map[string]any{}
		if err := json.Unmarshal([]byte("{"+c.members+"}"), &given); err != nil {
			t.Fatal(c.members, err)
		}
		all := map[string]any{}
		if err := json.Unmarshal([]byte(text+"}"), &all); err != nil {
			t.Fatal(err)
		}
		for name, v := range given {
			all[name] = v
		}
		ours, theirs := cloudevent.Check(all), mustJudge(t, all)
		if agree := (ours == nil) == (theirs == nil); agree != (c.differs == "") {
			t.Errorf("%s: %v, and the library says %v; %q", c.members, ours, theirs, c.differs)
		}
	}
	for _, name := range []string{"id", "source", "type", "specversion"} {
		lacks := map[string]any{"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
		delete(lacks, name)
		if ours, theirs := cloudevent.Check(lacks), mustJudge(t, lacks); ours == nil || theirs == nil {
			t.Errorf("without %s: %v, and the library says %v", name, ours, theirs)
		}
	}
}

// mustJudge returns the verdict of the library on an event.
func mustJudge(t *testing.T, v map[string]any) (err error) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil { // its reader panics if data_base64 is no text
			err = fmt.Errorf("%v", r)
		}
	}()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var e event.Event
	if err := json.Unmarshal(text, &e); err != nil {
		return err
	}
	return e.Validate()
}
