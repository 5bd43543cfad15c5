package expr

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// placedEnv is an environment with places.
type placedEnv struct{ places *Places }

func (placedEnv) Variable(string) any { return nil }

func (placedEnv) Now() time.Time { return time.Time{} }

func (e placedEnv) Place() Place { return Place{Of: e.places} }

// TestPlaces: an evaluation that builds much data waits for a place, and leaves it when it ends, in whatever way. Small evaluations do not wait.
func TestPlaces(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		waits  bool
	}{
		"machine":       {`[range(200000)] | length`, true},
		"native":        {`"x" * 5000000 | length`, true},
		"direct":        {`.text * 10 | length`, true},
		"above a limit": {`[range(900000) | tostring * 100] | length`, true},
		"an error":      {`[range(200000)] | error("no")`, true},
		"small":         {`[range(100)] | length`, false},
		"small direct":  {`.text | length`, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				code, err := Compile(c.source)
				if err != nil {
					t.Fatal(err)
				}
				template, err := CompileTemplate("${ "+c.source+" }", false)
				if err != nil {
					t.Fatal(err)
				}
				input := any(map[string]any{"text": string(make([]byte, 1<<20))})
				places := NewPlaces(1)
				for _, eval := range []func(){
					func() { _, _ = code.Eval(placedEnv{places}, input) },
					func() { _, _ = template.Eval(placedEnv{places}, input) },
				} {
					Place{Of: places}.take()
					ended := make(chan struct{})
					go func() {
						eval()
						close(ended)
					}()
					synctest.Wait()
					select {
					case <-ended:
						if c.waits {
							t.Error("it did not wait for a place")
						}
					default:
						if !c.waits {
							t.Error("it waits for a place")
						}
					}
					places.leave()
					<-ended
					if places.free != 1 || len(places.waiting)+len(places.turns) > 0 {
						t.Errorf("after it ended, the places are %+v", places)
					}
				}
			})
		})
	}
}

// TestPlacesInTurn: evaluations of several namespaces get places in turn, however many evaluations of one namespace wait. Each one reports its wait.
func TestPlacesInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := NewPlaces(1)
		Place{Of: places}.take()
		var order []string
		var reports []bool
		wait := func(namespace string) {
			go func() {
				Place{Of: places, Namespace: namespace, Waits: func(is bool) { reports = append(reports, is) }}.take()
				order = append(order, namespace)
				places.leave()
			}()
			synctest.Wait()
		}
		for _, namespace := range []string{"a", "a", "a", "a", "b", "b", "c"} {
			wait(namespace)
		}
		if want := slices.Repeat([]bool{true}, 7); !slices.Equal(reports, want) {
			t.Errorf("the waits are %v, want %v", reports, want)
		}
		places.leave()
		synctest.Wait()
		if want := []string{"a", "b", "c", "a", "b", "a", "a"}; !slices.Equal(order, want) {
			t.Errorf("the order is %v, want %v", order, want)
		}
		if want := slices.Concat(slices.Repeat([]bool{true}, 7), slices.Repeat([]bool{false}, 7)); !slices.Equal(reports, want) {
			t.Errorf("the waits are %v, want %v", reports, want)
		}
	})
}
