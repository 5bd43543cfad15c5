package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// TestActivitiesThatCannotBeRead: an operation on an activity is refused if the run or the activity is damaged or was written by a newer
// swrun. Neither of them is overwritten, and the activity stays where it is looked for.
func TestActivitiesThatCannotBeRead(t *testing.T) {
	const key, queue, due, member = "swrun:{D:0}:i:test/x", "swrun:{D:0}:q:mail test", "swrun:{D:0}:activities", "test/x 4"
	for name, c := range map[string]struct {
		harm []any
		want store.Code
	}{
		"newer run":        {[]any{"HSET", key, "k", "99 waiting - x"}, store.Newer},
		"damaged run":      {[]any{"HSET", key, "k", "rubbish"}, store.Corrupt},
		"damaged messages": {[]any{"HSET", key, "m", "rubbish"}, store.Corrupt},
		"another type":     {[]any{"SET", key, "rubbish"}, store.Corrupt},
		"newer activity":   {[]any{"HSET", key, "a4", "99 x"}, store.Newer},
	} {
		t.Run(name, func(t *testing.T) {
			s, client := mustOpenWithClient(t)
			waitingActivity(t, s)
			if err := client.Do(t.Context(), c.harm...).Err(); err != nil {
				t.Fatal(err)
			}
			content := func() string {
				return fmt.Sprint(client.HGetAll(t.Context(), key).Val(), client.Get(t.Context(), key).Val())
			}
			before := content()
			for _, op := range []store.ActivityOperation{ending{}, refusing{}} {
				changed, err := s.ChangeActivities(t.Context(), store.ChangeActivities{Activities: []store.ActivityID{{Run: instance("x"), Effect: 4}}, Operation: op})
				if err != nil || store.RefusedAs(changed[0].Refused) != c.want {
					t.Errorf("%T: changed %+v, %v", op, changed, err)
				}
			}
			if after := content(); after != before {
				t.Errorf("%s is %s, was %s", key, after, before)
			}
			for _, key := range []string{queue, due} {
				if err := client.ZScore(t.Context(), key, member).Err(); err != nil {
					t.Errorf("%s: %v", key, err)
				}
			}
		})
	}
}

// ending is an operation that ends an activity.
type ending struct{}

func (ending) Once(store.ActivityID) string { return "" }

func (ending) Transition(store.ActivityID, *store.Lifecycle, *store.Activity, time.Time) (*store.ActivityOutcome, store.Code) {
	return &store.ActivityOutcome{Message: store.Message(`{}`)}, ""
}

// TestActivityOfADeletedRun: an activity whose run was deleted by another program, except for its history, leaves the lists of the store.
func TestActivityOfADeletedRun(t *testing.T) {
	s, client := mustOpenWithClient(t)
	waitingActivity(t, s)
	client.Del(t.Context(), "swrun:{D:0}:i:test/x")
	client.RPush(t.Context(), "swrun:{D:0}:h:test/x", "rubbish")
	changed, err := s.ChangeActivities(t.Context(), store.ChangeActivities{Activities: []store.ActivityID{{Run: instance("x"), Effect: 4}}, Operation: ending{}})
	if err != nil || store.RefusedAs(changed[0].Refused) != store.NoSuch {
		t.Errorf("changed %+v, %v", changed, err)
	}
	if n := client.Exists(t.Context(), "swrun:{D:0}:q:mail test", "swrun:{D:0}:queued", "swrun:{D:0}:activities").Val(); n != 0 {
		t.Errorf("%d lists of activities are left", n)
	}
}
