package sources_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestOrder: events of one source and subject, or of one partition key, are published one after the other, in their order; others are published
// concurrently.
func TestOrder(t *testing.T) {
	const lines, each = 4, 10
	for name, attributes := range map[string]func(line int) string{
		"of subjects": func(line int) string { return fmt.Sprintf(`"source": "/s", "subject": "%d"`, line) },
		"of sources":  func(line int) string { return fmt.Sprintf(`"source": "/s/%d"`, line) },
		"of partition keys": func(line int) string {
			return fmt.Sprintf(`"source": "/s", "subject": "same", "partitionkey": "%d"`, line)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, p := startRedis(t), newPublished(t)
			for n := range each {
				for line := range lines {
					b.send(t, structured, nil, fmt.Sprintf(`{"specversion": "1.0", "id": "%d-%d", "type": "t", %s}`, line, n, attributes(line)))
				}
			}
			var arrived sync.WaitGroup // the first event of each line waits for the first ones of the others
			arrived.Add(lines)
			run(t, b, func(ctx context.Context, event map[string]any, namespaces []string) error {
				if strings.HasSuffix(event["id"].(string), "-0") {
					arrived.Done()
					arrived.Wait()
				}
				return p.publish(ctx, event, namespaces)
			})
			waitFor(t, "the events", func() bool { return len(strings.Fields(p.ids())) == lines*each })
			next := make([]int, lines)
			for _, id := range strings.Fields(p.ids()) {
				var line, n int
				if _, err := fmt.Sscanf(id, "%d-%d", &line, &n); err != nil || n != next[line] {
					t.Fatalf("%s comes where %d-%d is expected (%v)", id, line, next[line], err)
				}
				next[line]++
			}
		})
	}
}

// TestOrderOfBatches: an event does not overtake the events of a batch before it, regardless of their sources and subjects.
func TestOrderOfBatches(t *testing.T) {
	b, p := startRedis(t), newPublished(t)
	of := func(id, subject string) string {
		return fmt.Sprintf(`{"specversion": "1.0", "id": %q, "source": "/s", "subject": %q, "type": "t"}`, id, subject)
	}
	b.send(t, structured, nil, of("1", "a"))
	b.send(t, "application/cloudevents-batch+json", nil, "["+of("2", "a")+","+of("3", "b")+"]")
	b.send(t, structured, nil, of("4", "b"))
	run(t, b, p.publish)
	waitFor(t, "the events", func() bool { return len(strings.Fields(p.ids())) == 4 })
	if got := strings.Fields(p.ids()); !slices.Equal(got, []string{"1", "2", "3", "4"}) {
		t.Errorf("accepted: %s", got)
	}
}
