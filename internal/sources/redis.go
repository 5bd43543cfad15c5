package sources

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/eventfile"
	"github.com/swrun/swrun/internal/framing"
)

const (
	atATime = 100         // messages of one request
	waits   = time.Second // wait for the next one, unless ctx ends
)

// redisStream is a consumer of a group of a stream.
type redisStream struct {
	client     *redis.Client
	from       eventfile.Source
	consumer   string
	claimAfter time.Duration
	claimed    time.Time // time of the last search for abandoned messages of others
	count      int64     // number of messages of one request
}

// mostAnswer is the maximum size of an answer of Redis, in bytes: several messages of the usual size. Larger messages are requested one by one.
const mostAnswer = 128 << 20

// redisElements is the maximum number of elements of a list in an answer of Redis: the fields of an entry, with their values.
const redisElements = 8192

func (f *feed) openRedis(ctx context.Context, password string) (broker, error) {
	from, claimAfter := f.from, f.ClaimAfter
	o, err := RedisOptions(from.URL, from.Username, password, mostAnswer)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // it is for people
	o.ReadTimeout = waits + ackWithin
	b := &redisStream{client: redis.NewClient(o), from: from, consumer: fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:8]), claimAfter: claimAfter, count: f.count}
	err = b.client.XGroupCreateMkStream(ctx, from.Stream, from.Group, "0").Err()
	if err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
		b.client.Close() // the first error counts
		return nil, err
	}
	return b, nil
}

// RedisOptions returns the options of a connection to a server of Redis. The client does not repeat failed commands. A connection is closed when the
// server announces an answer of more than most bytes, before memory is allocated for it.
func RedisOptions(url, username, password string, most int) (*redis.Options, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	o.Username, o.Password, o.DisableIdentity, o.MaxRetries, o.DialTimeout, o.Protocol = username, password, true, -1, ackWithin, 2
	dial, guard := redis.NewDialer(o), &framing.Guard{Most: most}
	o.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return guard.Redis(conn, redisElements), nil
	}
	return o, nil
}

func (b *redisStream) receive(ctx context.Context) ([]message, error) {
	if time.Since(b.claimed) >= b.claimAfter/2 {
		answer, err := b.client.Do(ctx, "XAUTOCLAIM", b.from.Stream, b.from.Group, b.consumer, b.claimAfter.Milliseconds(), "0", "COUNT", b.count).Slice()
		if err != nil {
			return nil, err
		}
		if left := entries(answer[1]); len(left) > 0 {
			return left, nil
		}
		b.claimed = time.Now()
	}
	read := redis.NewSliceCmd(ctx, "XREADGROUP", "GROUP", b.from.Group, b.consumer, "COUNT", b.count, "BLOCK", waits.Milliseconds(), "STREAMS", b.from.Stream, ">")
	err := b.client.Process(ctx, read)
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil || len(read.Val()) == 0 {
		return nil, err
	}
	stream, _ := read.Val()[0].([]any) // its name and its entries
	return entries(stream[1]), nil
}

// entries returns messages. The library returns fields in a map, which keeps only one of several fields with the same name.
func entries(all any) (messages []message) {
	list, _ := all.([]any)
	for _, each := range list {
		if entry, _ := each.([]any); len(entry) == 2 { // otherwise it was just deleted
			fields, _ := entry[1].([]any)
			messages = append(messages, entryMessage(fmt.Sprint(entry[0]), fields))
		}
	}
	return messages
}

// entryMessage reads an entry: the field `event` contains one event or a list of them; otherwise attributes are fields ce_NAME, and `data` and
// `content-type` belong to the event.
func entryMessage(id string, fields []any) message {
	m := message{headers: map[string][]string{}, place: id, handle: id, Message: cloudevent.Message{Attributes: map[string]any{}}}
	had := map[string]bool{}
	for n := 0; n+1 < len(fields); n += 2 {
		name, text := fmt.Sprint(fields[n]), fmt.Sprint(fields[n+1])
		if had[name] {
			m.broken = fmt.Errorf("the field %s stands twice", name)
		}
		had[name] = true
		if name != "data" && name != "event" {
			m.headers[name] = append(m.headers[name], text)
		}
		if attribute, ok := strings.CutPrefix(name, "ce_"); ok {
			m.Attributes[attribute] = text
		} else if name == "content-type" {
			m.ContentType = text
		} else if name == "data" || name == "event" {
			m.Body = []byte(text)
		} else if name == whyOf {
			m.dead = true
		}
	}
	if had["data"] && had["event"] {
		m.broken = errors.New("there is a field `data` and a field `event`: give one of them")
	}
	return m
}

func (b *redisStream) acknowledge(ctx context.Context, done []message) error {
	var ids []string
	for _, m := range done {
		ids = append(ids, m.handle.(string))
	}
	return b.client.XAck(ctx, b.from.Stream, b.from.Group, ids...).Err()
}

func (b *redisStream) keep(ctx context.Context, m message, why string) error {
	values := []any{whyOf, why, placeOf, m.place}
	body := "event"
	for name, text := range m.Attributes {
		body = "data"
		values = append(values, "ce_"+name, text)
	}
	if m.ContentType != "" {
		values = append(values, "content-type", m.ContentType)
	}
	return b.client.XAdd(ctx, &redis.XAddArgs{Stream: b.from.DeadLetters, Values: append(values, body, m.Body)}).Err()
}

// close removes the consumer from the group if it has no unacknowledged messages. Otherwise another consumer claims them.
func (b *redisStream) close() {
	ctx, cancel := context.WithTimeout(context.Background(), ackWithin)
	defer cancel()
	pending, err := b.client.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: b.from.Stream, Group: b.from.Group, Start: "-", End: "+", Count: 1, Consumer: b.consumer}).Result()
	if err == nil && len(pending) == 0 {
		b.client.XGroupDelConsumer(ctx, b.from.Stream, b.from.Group, b.consumer)
	}
	b.client.Close() // nothing is in transit
}
