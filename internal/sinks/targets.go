package sinks

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-resty/resty/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/sources"
)

// target accepts events: it has accepted an event when send returns no error.
type target interface {
	send(ctx context.Context, e Event) error
	close()
}

// refusedError reports that the sink will never accept an event.
type refusedError struct{ error }

// Unwrap returns the reason.
func (e *refusedError) Unwrap() error { return e.error }

func refused(err error) bool { return errors.As(err, new(*refusedError)) }

// open connects to the target of the events.
func (s *sink) open(ctx context.Context) (target, error) {
	switch s.to.Kind {
	case "http":
		return s.openHTTP(), nil
	case "redis":
		o, err := sources.RedisOptions(s.to.URL, s.to.Username, s.secret, maxConfirmation)
		if err != nil {
			return nil, err
		}
		return &redisTarget{redis.NewClient(o), s.to.Stream, s.to.MaxLength}, nil
	case "nats":
		return s.openNATS()
	case "kafka":
		account := sources.KafkaAccount{Username: s.to.Username, Password: s.secret, TLS: s.to.TLS, SASL: s.to.SASL}
		client, err := kgo.NewClient(append(account.Options(s.to.Brokers), kgo.DefaultProduceTopic(s.to.Topic),
			kgo.FetchMaxBytes(maxConfirmation), kgo.BrokerMaxReadBytes(maxConfirmation))...)
		if err != nil {
			return nil, err
		}
		return &kafkaTarget{client}, nil
	}
	return &streamTarget{s.Config}, nil
}

// httpTarget is a webhook: each event is a request in structured mode.
type httpTarget struct {
	client *resty.Client
	url    string
}

func (s *sink) openHTTP() target {
	client := resty.NewWithClient(&http.Client{Transport: s.Transport}).SetDisableWarn(true).SetResponseBodyLimit(maxAnswer)
	client.SetRedirectPolicy(resty.RedirectPolicyFunc(func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }))
	if s.secret != "" {
		client.SetAuthToken(s.secret)
	}
	return &httpTarget{client, s.to.URL}
}

// maxConfirmation is the maximum size of a broker's confirmation or description, in bytes.
const maxConfirmation = 4 << 20

// maxAnswer is the size of the part of an answer that is read, so that its connection can be used again.
const maxAnswer = 64 << 10

func (t *httpTarget) send(ctx context.Context, e Event) error {
	answer, err := t.client.R().SetContext(ctx).SetHeader("Content-Type", cloudevent.MediaEvent+"; charset=utf-8").SetBody(e.Data).Post(t.url)
	if errors.Is(err, resty.ErrResponseBodyTooLarge) && answer != nil {
		err = nil
	}
	if err != nil {
		return err
	}
	switch code := answer.StatusCode(); {
	case code >= 200 && code < 300:
		return nil
	case code >= 400 && code < 500 && !mayPass(code):
		return &refusedError{fmt.Errorf("the webhook answers %s", answer.Status())}
	default:
		return fmt.Errorf("the webhook answers %s", answer.Status())
	}
}

// mayPass reports whether a status is not about the event: the sender, the rate or the target has to change.
func mayPass(code int) bool {
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusProxyAuthRequired,
		http.StatusRequestTimeout, http.StatusGone, http.StatusMisdirectedRequest, http.StatusLocked, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return false
}

func (t *httpTarget) close() {} // all webhooks share its connections

// redisTarget is a stream: the field event of an entry contains the event, in the form for sources.
type redisTarget struct {
	client    *redis.Client
	stream    string
	maxLength int64
}

func (t *redisTarget) send(ctx context.Context, e Event) error {
	return t.client.XAdd(ctx, &redis.XAddArgs{Stream: t.stream, MaxLen: t.maxLength, Approx: t.maxLength > 0, Values: []any{"event", e.Data}}).Err()
}

func (t *redisTarget) close() { t.client.Close() } // nothing is on its way

// natsTarget is a stream of JetStream that contains a subject.
type natsTarget struct {
	conn    *sources.NATSConn
	stream  jetstream.JetStream
	subject string
}

func (s *sink) openNATS() (target, error) {
	conn, err := sources.ConnectNATS("swrun sink "+s.to.Name, s.to.URL, sources.Account{Username: s.to.Username, Password: s.secret}, maxConfirmation)
	if err != nil {
		return nil, err
	}
	stream, err := jetstream.New(conn.Conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &natsTarget{conn, stream, s.to.Subject}, nil
}

// send waits until the stream has stored the event. The stream ignores a repetition within a short time by the id of the message.
func (t *natsTarget) send(ctx context.Context, e Event) error {
	msg := &nats.Msg{Subject: t.subject, Data: e.Data, Header: nats.Header{"Content-Type": {cloudevent.MediaEvent}, nats.MsgIdHdr: {e.Run + "/" + e.ID}}}
	_, err := t.stream.PublishMsg(ctx, msg)
	if errors.Is(err, nats.ErrMaxPayload) {
		return &refusedError{err}
	}
	return err
}

func (t *natsTarget) close() { t.conn.Close() }

// kafkaTarget is a topic; the key of a record is the run, so that its events are in one partition.
type kafkaTarget struct{ client *kgo.Client }

func (t *kafkaTarget) send(ctx context.Context, e Event) error {
	record := &kgo.Record{Key: []byte(e.Run), Value: e.Data, Headers: []kgo.RecordHeader{{Key: "content-type", Value: []byte(cloudevent.MediaEvent)}}}
	err := t.client.ProduceSync(ctx, record).FirstErr()
	if errors.Is(err, kerr.MessageTooLarge) {
		return &refusedError{err}
	}
	return err
}

func (t *kafkaTarget) close() { t.client.Close() }

// streamTarget is standard output: each event is a line.
type streamTarget struct{ Config }

func (t *streamTarget) send(_ context.Context, e Event) error {
	_, err := fmt.Fprintf(t.Out, "%s\n", strings.TrimSpace(string(e.Data)))
	return err
}

func (t *streamTarget) close() {}
