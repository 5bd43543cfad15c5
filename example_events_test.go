package swrun_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
)

// approval waits for the approval of its order, for two days.
const approval = `
document: {dsl: 1.0.3, namespace: demo, name: approval, version: 1.0.0}
do:
  - approved:
      listen: {to: {one: {with: {type: order.approved}, correlate: {order: {from: .data.order, expect: .order}}}}}
      timeout: {after: P2D}
`

// Events reach a run in memory at times of its clock. A run that listens when no event is left ends with a *ListeningError.
func ExampleArrival() {
	document, _ := swrun.Parse("", []byte(approval))
	event := func(order int) map[string]any {
		return map[string]any{"specversion": "1.0", "id": fmt.Sprint(order), "source": "/shop", "type": "order.approved", "data": map[string]any{"order": order}}
	}
	result, err := document.Run(context.Background(), map[string]int{"order": 7}, swrun.RunConfig{VirtualTime: true, Arrivals: []swrun.Arrival{
		{After: time.Hour, Timed: true, Event: event(6)}, {After: 3 * time.Hour, Timed: true, Event: event(7)},
	}})
	fmt.Println(result.Output, err)

	document, _ = swrun.Parse("", []byte(`
document: {dsl: 1.0.3, namespace: demo, name: endless, version: 1.0.0}
do: [{approved: {listen: {to: {one: {with: {type: order.approved}}}}}}]
`))
	_, err = document.Run(context.Background(), nil, swrun.RunConfig{})
	var listening *swrun.ListeningError
	fmt.Println(errors.As(err, &listening), listening.Tasks[0].Pointer)
	// Output:
	// [map[order:7]] <nil>
	// true /do/0/approved
}

// A forecast lists the automatic starts of runs, at times and by events. It is for programs that start runs without a store.
func ExampleDocument_Forecast() {
	document, _ := swrun.Parse("", []byte(`
document: {dsl: 1.0.3, namespace: demo, name: report, version: 1.0.0}
schedule: {cron: 30 9 * * *, on: {one: {with: {type: report.wanted}}}}
do: [{report: {set: {done: true}}}]
`))
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	forecast, err := document.Forecast(swrun.Host{}, now)
	if err != nil {
		panic(err)
	}
	for range 2 {
		for _, run := range forecast.Due(forecast.Next()) {
			fmt.Println(run.Kind, run.ID)
		}
	}
	begun, _ := forecast.Arrived(map[string]any{"specversion": "1.0", "id": "1", "source": "/shop", "type": "report.wanted", "data": "today"}, now)
	fmt.Println(begun[0].Kind, begun[0].Input)
	// Output:
	// cron report-cron-20260505T093000Z
	// cron report-cron-20260506T093000Z
	// on [today]
}

// An event is published to the runs that listen for it. Publishing it again changes nothing.
func ExampleEngine_Publish() {
	ctx, stop := context.WithCancel(context.Background())
	document, _ := swrun.Parse("", []byte(approval))
	store, err := swrun.OpenStore(ctx, "memory:", swrun.StoreConfig{})
	if err != nil {
		panic(err)
	}
	engine, err := swrun.NewEngine(store, swrun.EngineConfig{})
	if err != nil {
		panic(err)
	}
	worked := make(chan error, 1)
	go func() { worked <- engine.Work(ctx) }()
	run, err := engine.StartDocument(ctx, document, map[string]int{"order": 7}, swrun.StartOptions{})
	if err != nil {
		panic(err)
	}
	event := map[string]any{"specversion": "1.0", "source": "/shop", "type": "order.approved", "data": map[string]any{"order": 7}}
	for n, matched := 0, 0; matched == 0; n++ { // the run may not listen yet
		event["id"] = fmt.Sprint(n)
		report, err := engine.Publish(ctx, event, nil)
		if err != nil {
			panic(err)
		}
		matched = len(report.Matched)
	}
	report, err := engine.Publish(ctx, event, nil)
	fmt.Println(len(report.Matched), report.Repeated, err)
	fmt.Println(engine.CheckEvent(map[string]any{"type": "order.approved"}))
	result, err := run.Await(ctx)
	fmt.Println(result.Output, err)
	stop()
	<-worked
	// Output:
	// 0 true <nil>
	// an event needs `id`
	// [map[order:7]] <nil>
}

// The transport of an engine restricts requests of a program to the addresses that calls of workflows may reach.
func ExampleEngine_Transport() {
	store, err := swrun.OpenStore(context.Background(), "memory:", swrun.StoreConfig{})
	if err != nil {
		panic(err)
	}
	engine, err := swrun.NewEngine(store, swrun.EngineConfig{Host: swrun.Host{Network: swrun.NetworkPublic}})
	if err != nil {
		panic(err)
	}
	client := http.Client{Transport: engine.Transport()}
	_, err = client.Get("http://127.0.0.1:1/")
	fmt.Println(strings.Contains(err.Error(), "the network policy is public"))
	// Output: true
}
