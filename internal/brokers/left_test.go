package brokers

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// waitsOn is a subscription of a library that waits for its broker as long as its test wants.
type waitsOn struct {
	Subscription
	until chan struct{}
}

func (w waitsOn) Close(bool) { <-w.until }

// TestWhoHasLeftWaitsForNobody: a call and the end of a subscription return immediately when their caller leaves, although the library continues.
// While the caller is there, they wait for the library for a limited time.
func TestWhoHasLeftWaitsForNobody(t *testing.T) {
	for name, c := range map[string]struct {
		leaves bool
		call   time.Duration // how long the call takes then
		close  time.Duration // and the end of the subscription
	}{
		"the caller leaves":          {true, 0, 0},
		"the connection is given up": {false, farewell, 3 * farewell},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				until, dropped := make(chan struct{}), make(chan bool, 1)
				callers, leave := context.WithCancel(t.Context())
				defer leave()
				ctx, cancel := context.WithCancel(callers)
				if c.leaves {
					leave()
				} else {
					cancel()
				}
				began := time.Now()
				_, err := ended(ctx, callers.Done(), func() (bool, error) { <-until; return true, nil }, func(bool) { dropped <- true })
				if took := time.Since(began); err == nil || took != c.call {
					t.Errorf("the call took %s, %v", took, err)
				}
				began = time.Now()
				(&explained{waitsOn{until: until}, nil, callers.Done(), cancel}).Close(true)
				if took := time.Since(began); took != c.close {
					t.Errorf("the end took %s", took)
				}
				close(until)
				<-dropped // the late result
			})
		})
	}
}
