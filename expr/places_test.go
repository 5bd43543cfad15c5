package expr

import (
	"testing"
	"testing/synctest"
	"time"
)

// placedEnv is an environment with places.
type placedEnv struct{ places *Places }

func (placedEnv) Variable(string) any { return nil }

func (placedEnv) Now() time.Time { return time.Time{} }

func (e placedEnv) Places() *Places { return e.places }

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
					places.taken <- struct{}{}
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
					<-places.taken
					<-ended
					if n := len(places.taken); n != 0 {
						t.Errorf("%d places are taken after it ended", n)
					}
				}
			})
		})
	}
}
