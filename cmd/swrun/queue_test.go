package main

import (
	"testing"

	"github.com/swrun/swrun/internal/api"
)

// TestQueuePerforming: a number that was not counted is not shown as known.
func TestQueuePerforming(t *testing.T) {
	polled := []api.QueuePoller{{Worker: "w"}}
	for want, q := range map[string]api.Queue{
		"0":                {Performing: new(0)},
		"3":                {Performing: new(3)},
		"-":                {Performing: new(0), Pollers: polled},
		"2 and activities": {Performing: new(2), Pollers: polled},
		"4":                {Performing: new(4), Pollers: polled, Rate: "10/1m"},
		"1":                {Performing: new(1), Pollers: polled, Concurrency: 5},
	} {
		if got := queuePerforming(q); got != want {
			t.Errorf("%+v: %q, want %q", q, got, want)
		}
	}
}
