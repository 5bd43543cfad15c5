package interpreter

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestCauseOfALateStep: the event that led to a step is found behind the records of late scopes.
func TestCauseOfALateStep(t *testing.T) {
	migrate := Migrate{From: Version{"a/a:1", "d1"}, Of: Version{"a/a:2", "d2"}, Reason: "a new version", Actor: "ann"}
	refused := migrate
	refused.Refused = "no place for /do/0/a"
	set := SetDeadline{Kind: DeadlineTask, Path: "/do/0/a", At: time.Unix(100, 0).UTC(), Reason: "slow", Actor: "ann", expires: true}
	cancel := Cancel{Reason: "enough", Actor: "ann", LateAt: time.Unix(50, 0)}
	for _, want := range []struct {
		cause Event
		named HistoryEvent // that contains the cause
	}{
		{migrate, HistoryEvent{Type: WorkflowMigrated, Actor: "ann", Data: migrate.data("")}},
		{refused, HistoryEvent{Type: WorkflowMigrationRefused, Actor: "ann", Data: refused.data(refused.Refused)}},
		{set, HistoryEvent{Type: TaskDeadlineSet, Actor: "ann", Data: set.data("")}},
		{cancel, HistoryEvent{Type: WorkflowCancelled, Actor: "ann", Data: "enough"}},
	} {
		e := NewHistoryStep(want.cause, time.Unix(200, 0), Result{History: []HistoryEvent{{Type: WorkflowLate, Until: time.Unix(50, 0)}, {Type: TaskLate}, want.named}})
		if diff := cmp.Diff(want.cause, e.cause(Start{}), cmpopts.EquateEmpty(), cmp.AllowUnexported(SetDeadline{})); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", want.named.Type, diff)
		}
	}
}
