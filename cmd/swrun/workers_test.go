package main

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/redisstore/redistest"
)

// TestWorkersAreListed: workers are listed with their own descriptions, from their start to their end.
func TestWorkersAreListed(t *testing.T) {
	h := newHosted(t)
	if got := h.exits(exitOK, "workers", "-o", "json"); got != "[]\n" {
		t.Errorf("without a worker, there are %s", got)
	}
	contains(t, h.stderr(exitOK, "workers"), "no worker is connected to "+h.url)

	stop := working(t, capture(map[string]string{"SWRUN_STORE": h.url}), "--concurrency", "7", "--allow-processes", "--network", "deny")
	h.until("processes", "workers")
	contains(t, h.exits(exitOK, "workers"), "NAME ", " "+strconv.Itoa(os.Getpid())+" ", " 0, 0 of 7 performing ")
	contains(t, h.stderr(exitOK, "workers"), "!worker")
	h.exits(exitOK, "deploy", mustWriteFile(t, "half.yaml", halfMinuteText))
	const about = `.[] | select(.runs | not) | [.concurrency, .grants.processes, .grants.files, .grants.network, (.since | length > 19), .since <= .seenAt, .host == "` + "HOST" + `"]`
	host, _ := os.Hostname()
	if got := h.exits(exitOK, "workers", "-o", "json", "--jq", strings.Replace(about, "HOST", host, 1)); got != `[7,true,false,"deny",true,true,true]`+"\n" {
		t.Errorf("it is listed as %s", got)
	}

	c := capture(map[string]string{"SWRUN_STORE": h.url})
	signals := make(chan os.Signal, 1)
	c.now, c.signals = time.Now, func() (<-chan os.Signal, func()) { return signals, func() {} }
	var driving sync.WaitGroup
	driving.Go(func() {
		run([]string{"run", mustWriteFile(t, "half.yaml", halfMinuteText), "--id", "alone"}, c.streams)
	})
	h.until(`"demo/alone"`, "workers", "-o", "json", "--jq", ".[].runs")
	contains(t, h.exits(exitOK, "workers"), "; only demo/alone")
	signals <- os.Interrupt
	driving.Wait()
	stop()
	h.until("[]", "workers", "-o", "json", "--jq", "map(.name)")
}

// TestWorkersOnALostServer: the list reports that the store does not answer, and not that there are no workers.
func TestWorkersOnALostServer(t *testing.T) {
	server := redistest.Start(t)
	h := &hosted{t, server.URL()}
	server.Kill()
	h.exits(exitStore, "workers")
}
