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
	// gathering is the wait for each further message after the first: such a message is taken only if it is already there.
	gathering = 2 * time.Millisecond
	// enoughBytes is the total size of the messages of one effect from which no further message is added.
	enoughBytes = 1 << 20
	// steady is the minimum lifetime of a connection that is replaced when it ends.
	steady = time.Minute
	// skimming is the wait for a message that is too large and about to arrive again.
	skimming = 10 * time.Second
	// comingAgain is the wait for a message that no task can consume, in order to settle it at the broker.
	comingAgain = 3 * time.Second
	// ending is the maximum duration of the end of a subscription.
	ending = 10 * time.Second
)

// subscriptionName returns the name of the subscription of an occurrence at brokers. It is the same for all attempts, and valid for every broker.
func subscriptionName(key string) string {
	sum := sha256.Sum256([]byte("subscription " + key))
	return "swrun" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:18])
}

// receive performs one effect of a subscription. If a token is refused, it tries once more with another one.
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

// receiveFrom performs one effect of a subscription with a client.
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

// turn is one effect that uses the subscription.
type turn struct {
	*subscription
	client   *brokers.Client
	asked    *receiving
	memory   interpreter.Memory // nil without a limit
	reserved bool               // memory for all received data is reserved
}

// end acknowledges the consumed messages and ends the subscription at the broker. A failure of this does not fail the task, because the task already
// holds its messages. The broker forgets the subscription after a while without the call.
func (t *turn) end(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, ending)
	defer cancel()
	if err := t.connect(within, t.client); err != nil {
		return
	}
	_ = t.consumed(within, t.asked) // nor does a failure of this
	t.close(true)
}

// targetAsData returns the place of the messages, for the next requests.
func targetAsData(t *asyncapi.Target) (any, error) {
	data, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return expr.Decode(data)
}

// receive receives messages. It uses another connection if a connection ends that lasted long enough, or if a message is too large for the
// connection.
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
		case t.connection == nil, errors.Is(err, brokers.ErrTooLarge): // the message is lost, or too large to be rejected
			return nil, err
		case t.skims && errors.Is(err, context.DeadlineExceeded): // the message that was too large went to another consumer
			t.close(false)
		case !kept && time.Since(t.madeAt) < steady:
			return nil, err
		default:
			t.close(false)
		}
	}
}

// skimmed returns to a connection with the normal size limit, once no held message is too large.
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

// skim lets the next connection read a message that was too large for this one, within the memory that all effects share.
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

// receiveSome waits for a message, and takes further messages that are already there.
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
		if err != nil { // there is no message, or the next effect will see the fault
			break
		}
		all, bytes = append(all, another), bytes+len(another.Payload)
	}
	return all, nil
}

// settleUnfit waits until the message that no task can consume, and that came over another connection, arrives again.
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
		if tooLarge(d) { // it would arrive repeatedly, unless the task reports that it received it
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

// reserveFor reserves memory for the decoded values of messages.
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

// readMessage returns the form of a message for the task (semantics 11.10b).
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

// textOrBase64 returns a header in the form of a payload without a content type: bytes that are no text become base64.
func textOrBase64(value string) string {
	if utf8.ValidString(value) {
		return value
	}
	return base64.StdEncoding.EncodeToString([]byte(value))
}

// readPayload decodes a payload in the same way as responses. A payload without a content type is JSON if it is valid JSON, as published payloads
// are.
func readPayload(contentType string, payload []byte) (any, error) {
	if contentType == "" {
		if v, err := content.Decode("application/json", payload); err == nil {
			return v, nil
		}
	}
	return content.Decode(contentType, payload)
}
