package limits_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/limits"
)

// TestTheTableIsDocumented: docs/limits.md has a row for each limit.
func TestTheTableIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range limits.All() {
		row := fmt.Sprintf("| `%s` | %s | %s | %s |", l.Name, shown(l), l.About, errors.Name(l.Failure("").Type))
		if !strings.Contains(string(page), row+"\n") {
			t.Errorf("docs/limits.md lacks the row\n%s", row)
		}
	}
}

func shown(l limits.Limit) string {
	text := fmt.Sprint(l.Default, " ", l.Unit)
	if l.Unit == "bytes" && l.Default >= 1<<20 {
		text = fmt.Sprint(l.Default>>20, " MiB")
	}
	if l.Fixed {
		text += ", fixed"
	}
	return text
}

func TestCheck(t *testing.T) {
	set := limits.Set{limits.Items: 3}
	if err := set.Check(limits.Items, 3); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	want := &errors.Error{
		Type: errors.Limit, Status: 400, Title: "Limit Exceeded", Detail: "the list of a for: 4 items, and at most 3 items are allowed (limit items)",
		Extensions: map[string]any{"limit": "items", "value": 4, "max": 3},
	}
	if diff := cmp.Diff(want, set.Check(limits.Items, 4)); diff != "" {
		t.Error(diff)
	}
	if err := (limits.Set)(nil).Check(limits.Input, 4<<20+1); err == nil {
		t.Error("a nil set has no defaults")
	}
}

func TestParse(t *testing.T) {
	set := limits.Set{}
	for _, text := range []string{"input=8MiB", "data=1GiB", "event=10KiB", "state=77", "items=5"} {
		if err := set.Parse(text); err != nil {
			t.Error(err)
		}
	}
	want := limits.Set{limits.Input: 8 << 20, limits.Data: 1 << 30, limits.Event: 10 << 10, limits.State: 77, limits.Items: 5}
	if diff := cmp.Diff(want, set); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{
		"", "=", "input", "input=", "input=0", "input=-1", "input=x", "input=1.5MiB", "input=999999999999GiB", "items=5KiB", "labels=5", "nothing=5", " =1",
	} {
		if err := set.Parse(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestOneIsNamedInTheSingular(t *testing.T) {
	for name, want := range map[limits.Name]string{
		limits.Items: "2 items, and at most 1 item is allowed", limits.Branches: "2 branches, and at most 1 branch is allowed",
	} {
		if err := (limits.Set{name: 1}).Check(name, 2); !strings.Contains(err.Detail, want) {
			t.Errorf("%s: %s", name, err.Detail)
		}
	}
}
