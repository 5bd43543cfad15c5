package conformance

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cucumber/godog"
	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/execution"
	"github.com/swrun/swrun/runtime/local"
)

// ctkFolder is the folder of the specification's own features, beside the checkout.
const ctkFolder = "../../shared/spec/ctk"

// TestCTK runs the specification's features unmodified. A local handler answers for their hosts. The runner's own summary, which counts skipped
// scenarios as passed, is dropped; the test logs its own.
func TestCTK(t *testing.T) {
	if _, err := os.Stat(ctkFolder); err != nil {
		t.Skip("the specification's features are not beside the checkout (" + ctkFolder + ")")
	}
	ran := map[string]bool{}
	suite := godog.TestSuite{
		ScenarioInitializer: func(sc *godog.ScenarioContext) { newScenario(t, sc, ran) },
		Options:             &godog.Options{Format: "progress", Paths: []string{ctkFolder}, Strict: true, TestingT: t, NoColors: true, Output: io.Discard},
	}
	if status := suite.Run(); status != 0 {
		t.Errorf("the suite ends with status %d", status)
	}
	t.Logf("%d scenarios", len(ran))
	if len(ran) != 21 {
		t.Errorf("got %d scenarios, want 21", len(ran))
	}
}

// scenario is one scenario in progress.
type scenario struct {
	t        *testing.T
	workflow string
	input    any
	outcome  execution.Outcome
	order    []string // tasks in the order in which they started
}

func newScenario(t *testing.T, sc *godog.ScenarioContext, ran map[string]bool) {
	s := &scenario{t: t, input: map[string]any{}}
	sc.Before(func(ctx context.Context, told *godog.Scenario) (context.Context, error) {
		ran[told.Name] = true
		return ctx, nil
	})
	sc.Step(`^a workflow with definition:$`, func(text *godog.DocString) { s.workflow = text.Content })
	sc.Step(`^given the workflow input is:$`, func(text *godog.DocString) (err error) { s.input, err = yamlData(text.Content); return err })
	sc.Step(`^the workflow is executed$`, s.execute)
	sc.Step(`^the workflow should complete$`, s.completes)
	sc.Step(`^the workflow should complete with output:$`, s.completesWith)
	sc.Step(`^the workflow should fault$`, s.faults)
	sc.Step(`^the workflow should fault with error:$`, s.faultsWith)
	sc.Step(`^the workflow output should have properties (.+)$`, s.hasProperties)
	sc.Step(`^the workflow output should have a '([^']+)' property with value:$`, s.hasProperty)
	sc.Step(`^the workflow output should have a '([^']+)' property containing (\d+) items$`, s.hasItems)
	sc.Step(`^(\w+) should run first$`, func(task string) error { return s.ranAt(task, 0) })
	sc.Step(`^(\w+) should run last$`, func(task string) error { return s.ranAt(task, len(s.order)-1) })
	sc.Step(`^(\w+) should run after (\w+)$`, s.ranAfter)
}

func (s *scenario) execute(ctx context.Context) error {
	p, diagnostics := load("workflow.yaml", s.workflow, newOutside(nil).config)
	if err := diagnostics.Err(); err != nil {
		return err
	}
	var err error
	s.outcome, err = local.Run(ctx, p, s.input, local.Config{Virtual: true, Observe: func(r interpreter.HistoryEvent) {
		if r.Type == interpreter.TaskStarted {
			tokens := r.Pointer.Tokens()
			s.order = append(s.order, tokens[len(tokens)-1])
		}
	}})
	return err
}

func (s *scenario) completes() error {
	if s.outcome.Status != interpreter.StatusCompleted {
		return fmt.Errorf("the workflow is %s: %v", s.outcome.Status, s.outcome.Fault)
	}
	return nil
}

func (s *scenario) completesWith(text *godog.DocString) error {
	want, err := yamlData(text.Content)
	if err != nil {
		return err
	}
	return equal(want, s.outcome.Output)
}

func (s *scenario) faults() error {
	if s.outcome.Fault == nil {
		return fmt.Errorf("the workflow is %s with %v", s.outcome.Status, s.outcome.Output)
	}
	return nil
}

func (s *scenario) faultsWith(text *godog.DocString) error {
	want, err := yamlData(text.Content)
	if err != nil || s.outcome.Fault == nil {
		return fmt.Errorf("the workflow is %s (%w)", s.outcome.Status, err)
	}
	return equal(want, any(s.outcome.Fault.Value()))
}

var quotedName = regexp.MustCompile(`'([^']+)'`)

func (s *scenario) hasProperties(list string) error {
	for _, m := range quotedName.FindAllStringSubmatch(list, -1) {
		if _, ok := property(s.outcome.Output, m[1]); !ok {
			return fmt.Errorf("the output %v has no property %s", s.outcome.Output, m[1])
		}
	}
	return nil
}

func (s *scenario) hasProperty(path string, text *godog.DocString) error {
	want, err := yamlData(text.Content)
	if err != nil {
		return err
	}
	got, _ := property(s.outcome.Output, path) // an absent one is unequal
	return equal(want, got)
}

func (s *scenario) hasItems(path string, count int) error {
	got, _ := property(s.outcome.Output, path) // an absent one has no items
	if items, ok := got.([]any); !ok || len(items) != count {
		return fmt.Errorf("%s is %v, want %d items", path, got, count)
	}
	return nil
}

func (s *scenario) ranAt(task string, at int) error {
	if at < 0 || s.order[at] != task {
		return fmt.Errorf("the tasks ran in the order %v", s.order)
	}
	return nil
}

func (s *scenario) ranAfter(later, earlier string) error {
	if i, j := slices.Index(s.order, later), slices.Index(s.order, earlier); i < 0 || j < 0 || i < j {
		return fmt.Errorf("the tasks ran in the order %v", s.order)
	}
	return nil
}

func property(v any, path string) (any, bool) {
	for _, name := range strings.Split(path, ".") {
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = object[name]; !ok {
			return nil, false
		}
	}
	return v, true
}

func equal(want, got any) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("(-want +got):\n%s", diff)
	}
	return nil
}

// yamlData reads YAML data as documents do: through the parser, as the value of a set task.
func yamlData(text string) (any, error) {
	indented := "      " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n      ")
	w, diagnostics := dsl.Parse("data.yaml", []byte("document: {dsl: 1.0.3, namespace: a, name: a, version: 0.1.0, metadata: {}}\ndo:\n- a:\n    set: {a: 1}\n    metadata:\n     data:\n"+indented+"\n"))
	if err := diagnostics.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return w.Do[0].Base().Metadata["data"], nil
}
