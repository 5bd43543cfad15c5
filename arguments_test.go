package swrun_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/worker"
)

// TestMissingArguments: every nil or empty argument is refused by its name. No missing argument ends the program.
func TestMissingArguments(t *testing.T) {
	engine := mustEngine(t, "memory:", swrun.EngineConfig{})
	for name, d := range map[string]*swrun.Document{"nil": nil, "empty": {}, "without a tree": {File: "a.yaml", Text: []byte("a: b")}} {
		for call, err := range map[string]error{
			"Err":           d.Err(),
			"Check":         d.Check(swrun.CheckConfig{}),
			"Run":           second(d.Run(t.Context(), nil, swrun.RunConfig{})),
			"Deploy":        engine.Deploy(t.Context(), d),
			"StartDocument": second(engine.StartDocument(t.Context(), d, nil, swrun.StartOptions{})),
		} {
			var wrong *swrun.OptionError
			if !errors.As(err, &wrong) || wrong.Option != "document" {
				t.Errorf("%s of a document that is %s: %v", call, name, err)
			}
		}
		_ = d.String()
		whole := mustParse(t, "do: [{a: {set: {b: 1}}}]\n")
		if _, err := engine.StartDocument(t.Context(), whole, nil, swrun.StartOptions{}, d); err != nil {
			t.Errorf("another document that is %s: %v", name, err)
		}
		if _, err := whole.Run(t.Context(), nil, swrun.RunConfig{Documents: swrun.NewDocuments(d, whole)}); err != nil {
			t.Errorf("documents of which one is %s: %v", name, err)
		}
	}
	for _, s := range []*swrun.Store{nil, {}} {
		if _, err := swrun.NewEngine(s, swrun.EngineConfig{}); !errors.As(err, new(*swrun.OptionError)) {
			t.Errorf("an engine of %v: %v", s, err)
		}
	}
	if err := engine.Settle(t.Context(), nil); err != nil {
		t.Error(err)
	}
	if hidden := swrun.NewSecrets(map[string]any{"a": "k-7f3Q9w"}, nil).Of(nil).Text("k-7f3Q9w"); strings.Contains(hidden, "k-7") {
		t.Errorf("without a workflow: %s", hidden)
	}
}

// TestDefaultsAreDocumented: the comments of EngineConfig contain the actual defaults.
func TestDefaultsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("engine.go")
	if err != nil {
		t.Fatal(err)
	}
	for field, value := range map[string]any{
		"Concurrency": worker.DefaultConcurrency, "Lease": worker.DefaultLease, "Drain": worker.DefaultDrain, "ParkAfter": worker.DefaultParkAfter,
	} {
		documented := false
		for line := range strings.Lines(string(text)) {
			documented = documented || strings.HasPrefix(line, "\t"+field+" ") && strings.HasSuffix(line, fmt.Sprintf("default %v\n", value))
		}
		if !documented {
			t.Errorf("the default of %s, %v, is not in its comment", field, value)
		}
	}
}
