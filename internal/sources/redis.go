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
	atATime = 100         // messages that are asked for
	waits   = time.Second // for the next one, unless ctx ends
)

// redisStream is a consumer of a group of a stream.
type redisStream struct {
	client     *redis.Client
	from       eventfile.Source
	consumer   string
	claimAfter time.Duration
	claimed    time.Time // when it was last looked for what others have left
	count      int64     // how many messages are asked for at a time
}

// mostAnswer is how many bytes an answer of Redis may have: some messages of the usual size. Larger messages are asked for one by one.
const mostAnswer = 128 << 20

// redisElements is how many elements a list in an answer of Redis may have: the fields of an entry, with their values.
const redisElements = 8192

func (f *feed) openRedis(ctx context.Context, password string) (broker, error) {
	from, claimAfter := f.from, f.ClaimAfter
	o, err := RedisOptions(from.URL, from.Username, password, mostAnswer)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // it is for people
	b := &redisStream{client: redis.NewClient(o), from: from, consumer: fmt.Sprintf("%s-%d-%s", host, os.Getpid(), rand.Text()[:8]), claimAfter: claimAfter, count: f.count}
	err = b.client.XGroupCreateMkStream(ctx, from.Stream, from.Group, "0").Err()
	if err != nil && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
		b.client.Close() // the error is the first one's
		return nil, err
	}
	return b, nil
}

// RedisOptions returns how a server of Redis is connected to. The client does not try again what fails. A connection ends when the server announces
// an answer of more than most bytes, before there is room for it.
func RedisOptions(url, username, password string, most int) (*redis.Options, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	o.Username, o.Password, o.DisableIdentity, o.MaxRetries, o.DialTimeout = username, password, true, -1, ackWithin
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
		left, _, err := b.client.XAutoClaim(ctx, &redis.XAutoClaimArgs{Stream: b.from.Stream, Group: b.from.Group, Consumer: b.consumer, MinIdle: b.claimAfter, Start: "0", Count: b.count}).Result()
		if err != nil {
			return nil, err
		}
		if len(left) > 0 {
			return entries(left), nil
		}
		b.claimed = time.Now()
	}
	streams, err := b.client.XReadGroup(ctx, &redis.XReadGroupArgs{Group: b.from.Group, Consumer: b.consumer, Streams: []string{b.from.Stream, ">"}, Count: b.count, Block: waits}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil || len(streams) == 0 {
		return nil, err
	}
	return entries(streams[0].Messages), nil
}

// entries returns messages: the field `event` holds one event or a list of them; otherwise attributes are fields ce_NAME, and `data` and
// `content-type` are those of the event.
func entries(all []redis.XMessage) (messages []message) {
	for _, entry := range all {
		m := message{headers: map[string][]string{}, place: entry.ID, handle: entry.ID, Message: cloudevent.Message{Attributes: map[string]any{}}}
		for name, value := range entry.Values {
			text := fmt.Sprint(value)
			if name != "data" && name != "event" {
				m.headers[name] = []string{text}
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
		messages = append(messages, m)
	}
	return messages
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

// close takes the consumer out of the group if nothing waits for its acknowledgement: what does is for another to claim.
func (b *redisStream) close() {
	ctx, cancel := context.WithTimeout(context.Background(), ackWithin)
	defer cancel()
	pending, err := b.client.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: b.from.Stream, Group: b.from.Group, Start: "-", End: "+", Count: 1, Consumer: b.consumer}).Result()
	if err == nil && len(pending) == 0 {
		b.client.XGroupDelConsumer(ctx, b.from.Stream, b.from.Group, b.consumer)
	}
	b.client.Close() // nothing is on its way
}
