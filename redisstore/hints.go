package redisstore

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/runtime/store"
)

// hint is the message that a script publishes about a partition.
func hint(partition int) string { return strconv.Itoa(partition) }

// mailHint is the message that a script publishes when a run gets a message.
func mailHint(partition int, i store.Instance) string {
	return strconv.Itoa(partition) + " " + i.String()
}

// queueHint is the message that a script publishes when an activity becomes available in a queue.
func queueHint(partition int, queue string) string { return strconv.Itoa(partition) + " " + queue }

// Hints implements store.Reader.
func (s *Store) Hints(ctx context.Context) <-chan store.Hint {
	hints := make(chan store.Hint, 256)
	subscription := s.client.Subscribe(ctx, s.keys.hints())
	go func() {
		defer close(hints)
		defer subscription.Close() // its error is that it is closed already
		messages := subscription.Channel(redis.WithChannelSize(1024))
		for {
			select {
			case <-ctx.Done():
				return
			case m, ok := <-messages:
				if !ok {
					return
				}
				select {
				case hints <- parseHint(m.Payload):
				default: // the reader is slow, and polls anyway
				}
			}
		}
	}()
	return hints
}

func parseHint(text string) store.Hint {
	n, mail, _ := strings.Cut(text, " ")
	partition, err := strconv.Atoi(n)
	if err != nil {
		return store.Hint{Partition: -1}
	}
	h := store.Hint{Partition: partition}
	switch {
	case strings.Contains(mail, "/"):
		h.Mail = instanceOf(mail)
	default:
		h.Queue = mail
	}
	return h
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
