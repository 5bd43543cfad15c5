package tasks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/asyncapi"
	"github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/internal/content"
	"github.com/swrun/swrun/interpreter"
)

const (
	// gathering is how long a message that comes after others is waited for: only if it is there already.
	gathering = 2 * time.Millisecond
	// enoughBytes is how large the messages of one effect are together before no other one is added.
	enoughBytes = 1 << 20
	// steady is how long a connection must have lasted to be made again when it ends.
	steady = time.Minute
	// skimming is how long a message that is too large is waited for when it is about to come again.
	skimming = 10 * time.Second
	// comingAgain is how long a message that nobody can consume is waited for, to tell the broker so.
	comingAgain = 3 * time.Second
	// ending bounds how long the end of a subscription takes.
	ending = 10 * time.Second
)

// subscriptionName returns what brokers know the subscription of an occurrence by: the same for all attempts, and fit for every broker.
func subscriptionName(key string) string {
	sum := sha256.Sum256([]byte("subscription " + key))
	return "swrun" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:18])
}

// receive does one effect of a subscription. If a token is refused, it tries once more with another one.
func (p *asyncAPIPerformer) receive(ctx context.Context, call *asyncAPIRequest, r interpreter.Request) (any, error) {
	client, c, err := p.client(ctx, call)
	if err != nil {
		return nil, err
	}
	result, err := p.receiveFrom(ctx, client, call, r)
	if renewed, failed := c.renewRefused(ctx, err); failed != nil {
		err = failed
	} else if renewed {
		client.Account = c.account()
		result, err = p.receiveFrom(ctx, client, call, r)
	}
	return c.hide(result, err)
}

// receiveFrom does one effect of a subscription with a client.
func (p *asyncAPIPerformer) receiveFrom(ctx context.Context, client *brokers.Client, call *asyncAPIRequest, r interpreter.Request) (any, error) {
	s, err := p.kept.take(ctx, subscriptionName(r.Key))
	if err != nil {
		return nil, err
	}
	defer p.kept.giveBack(s)
	t := &turn{subscription: s, client: client, asked: call.Receive, memory: r.Memory}
	what := "receiving from "
	switch {
	case t.asked.Ends:
		t.end(ctx)
		return nil, nil
	case t.asked.Begins:
		what = "subscribing to "
	}
	deliveries, err := t.receive(ctx)
	if err != nil {
		s.close(errors.Is(context.Cause(ctx), interpreter.ErrUnwanted))
		return nil, asyncAPIFailure(ctx, what+client.Target.String(), err)
	}
	if t.asked.Begins {
		return targetAsData(call.Target)
	}
	return t.read(ctx, deliveries)
}

// turn is one effect that has the subscription.
type turn struct {
	*subscription
	client   *brokers.Client
	asked    *receiving
	memory   interpreter.Memory // nil without a bound
	reserved bool               // for all that is read
}

// end tells the broker what was consumed, and has it forget the subscription. That is no reason to fail: the task has its messages, and what the
// broker does not hear now, it forgets by itself after a while.
func (t *turn) end(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, ending)
	defer cancel()
	if err := t.connect(within, t.client); err != nil {
		return
	}
	_ = t.consumed(within, t.asked) // the same holds for this
	t.close(true)
}

// targetAsData returns where the messages are, for the requests to come.
func targetAsData(t *asyncapi.Target) (any, error) {
	data, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return expr.Decode(data)
}

// receive receives messages: over another connection if one ends that has lasted, or if what comes is too large for it.
func (t *turn) receive(ctx context.Context) ([]*brokers.Delivery, error) {
	t.skimmed()
	for {
		kept := t.connection != nil
		deliveries, err := t.receiveSome(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			if t.asked.Most == 0 {
				t.skimmed()
			}
			return deliveries, err
		case t.needsSkimming(err):
			if err := t.skim(ctx); err != nil {
				return nil, err
			}
		case t.connection == nil, errors.Is(err, brokers.ErrTooLarge): // which is lost, or too large to be rejected
			return nil, err
		case t.skims && errors.Is(err, context.DeadlineExceeded): // what was too large has gone to somebody else
			t.close(false)
		case !kept && time.Since(t.madeAt) < steady:
			return nil, err
		default:
			t.close(false)
		}
	}
}

// skimmed goes back to a connection that reads no more than it should, once nothing is held that is too large.
func (t *turn) skimmed() {
	if t.skims && !slices.ContainsFunc(t.held, tooLarge) {
		t.close(false)
	}
}

func tooLarge(d *brokers.Delivery) bool { return d.Most > 0 }

// needsSkimming reports whether a message is too large for the connection, and still at the broker.
func (t *turn) needsSkimming(err error) bool {
	return errors.Is(err, brokers.ErrTooLarge) && !t.skims && (t.connection == nil || t.connection.Keeps())
}

// skim has the next connection read what was too large for this one, within the memory that all effects share.
func (t *turn) skim(ctx context.Context) error {
	t.close(false)
	if t.memory != nil && !t.reserved {
		if err := t.memory.Reserve(ctx, brokers.MaxSkimmed); err != nil {
			return err
		}
		t.reserved = true
	}
	t.skims = true
	return nil
}

// receiveSome waits for a message, and takes those along that are there already.
func (t *turn) receiveSome(ctx context.Context) ([]*brokers.Delivery, error) {
	if err := t.connect(ctx, t.client); err != nil || t.asked.Begins {
		return nil, err
	}
	settled := t.asked.Unfit == "" || t.holds(t.asked.Unfit) >= 0
	if err := t.consumed(ctx, t.asked); err != nil {
		return nil, err
	}
	most := t.asked.Most
	switch {
	case most == 0 && settled:
		return nil, nil
	case most == 0:
		return nil, t.settleUnfit(ctx)
	case t.skims:
		within, cancel := context.WithTimeout(ctx, skimming)
		defer cancel()
		ctx, most = within, 1
	}
	first, err := t.next(ctx, 0, t.asked)
	if err != nil {
		return nil, err
	}
	all, bytes := []*brokers.Delivery{first}, len(first.Payload)
	for len(all) < most && bytes < enoughBytes {
		brief, cancel := context.WithTimeout(ctx, gathering)
		another, err := t.next(brief, len(all), t.asked)
		cancel()
		if err != nil { // there is none, or the next effect will see what is wrong
			break
		}
		all, bytes = append(all, another), bytes+len(another.Payload)
	}
	return all, nil
}

// settleUnfit waits until the message comes again that nobody can consume, and came over another connection.
func (t *turn) settleUnfit(ctx context.Context) error {
	if !t.connection.Keeps() {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, comingAgain)
	defer cancel()
	for {
		handle, err := t.receiveOne(within, t.asked)
		if handle == t.asked.Unfit || within.Err() != nil && ctx.Err() == nil { // otherwise the next attempt may see it once more
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// read decodes messages, within the memory that all effects share.
func (t *turn) read(ctx context.Context, deliveries []*brokers.Delivery) (any, error) {
	if err := t.reserveFor(ctx, deliveries); err != nil {
		return nil, err
	}
	all := make([]any, 0, len(deliveries))
	for _, d := range deliveries {
		one := map[string]any{"handle": d.Handle}
		if tooLarge(d) { // it would come again and again, unless the task says that it has had it
			one["broken"] = fmt.Sprintf("a message of %s has more than the %d bytes that are allowed (limit response)", t.client.Target.String(), d.Most)
			one["large"] = true
		} else if message, err := readMessage(t.client.Target, d.Message); err != nil { // the same
			one["broken"] = err.Error()
		} else {
			one["message"] = message
		}
		all = append(all, one)
	}
	return all, nil
}

// reserveFor reserves memory for what messages are decoded to.
func (t *turn) reserveFor(ctx context.Context, deliveries []*brokers.Delivery) error {
	bytes, values := 0, 0
	for _, d := range deliveries {
		bytes, values = bytes+len(d.Payload), values+expr.DecodedSize(d.Payload)
	}
	switch {
	case t.reserved:
		t.memory.Keep(int64(bytes) * perByte)
	case t.memory == nil || bytes <= unreserved:
		return nil
	default:
		if err := t.memory.Reserve(ctx, int64(bytes)*perByte); err != nil {
			return err
		}
	}
	return t.memory.ReserveValues(ctx, int64(values))
}

// readMessage returns what the task gets of a message (semantics 11.10b).
func readMessage(target asyncapi.Target, m brokers.Message) (map[string]any, error) {
	payload, err := readPayload(cmp.Or(m.ContentType, target.ContentType), m.Payload)
	if err != nil {
		return nil, fmt.Errorf("a message of %s %w", target.String(), err)
	}
	headers := map[string]any{}
	for name, value := range m.Headers {
		headers[name] = textOrBase64(value)
	}
	message := map[string]any{"payload": payload, "headers": headers, "correlationId": nil}
	if id := cmp.Or(target.CorrelationID(&asyncapi.Content{Headers: headers, Payload: payload}), m.CorrelationID); id != "" {
		message["correlationId"] = textOrBase64(id)
	}
	return message, nil
}

// textOrBase64 returns a header as a payload without a content type would be: bytes that are no text are base64.
func textOrBase64(value string) string {
	if utf8.ValidString(value) {
		return value
	}
	return base64.StdEncoding.EncodeToString([]byte(value))
}

// readPayload decodes a payload as responses are decoded. Without a content type it is JSON, if it can be, as what is published is.
func readPayload(contentType string, payload []byte) (any, error) {
	if contentType == "" {
		if v, err := content.Decode("application/json", payload); err == nil {
			return v, nil
		}
	}
	return content.Decode(contentType, payload)
}
