package sources_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/eventfile"
	"github.com/swrun/swrun/internal/sources"
)

// TestManyDeadLettersAreFewLines: of many messages that are set aside, the log names 20 immediately, and then one each second with the number of the
// omitted ones.
func TestManyDeadLettersAreFewLines(t *testing.T) {
	b, p := startRedis(t), newPublished(t)
	const sent = 500
	var log bytes.Buffer // of one goroutine, which is over when it is read
	begun := time.Now()
	s, err := sources.New([]eventfile.Source{b.from}, sources.Config{Publish: p.publish, Log: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop := sync.OnceFunc(func() { cancel(); <-done })
	defer stop()
	for n := range sent {
		b.send(t, structured, nil, fmt.Sprint("{", n))
	}
	waitFor(t, "all", func() bool { return s.States()[0].SetAside == sent })
	stop()
	most := 21 + int(time.Since(begun)/time.Second)
	lines, told := 0, 0
	for _, line := range regexp.MustCompile(`is set aside.* unsaid=(\d+)`).FindAllStringSubmatch(log.String(), -1) {
		unsaid, err := strconv.Atoi(line[1])
		must(t, err)
		lines, told = lines+1, told+1+unsaid
	}
	if lines < 20 || lines > most || told > sent {
		t.Errorf("%d lines (at most %d) tell of %d messages", lines, most, told)
	}
}
