package tasks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/asyncapi"
	"github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/interpreter"
)

const (
	// gathering is how long a message that comes after others is waited for: only if it is there already.
	gathering = 2 * time.Millisecond
	// enoughBytes is how large the messages of one effect are together before no other one is added.
	enoughBytes = 1 << 20
	// steady is how long a connection must have lasted to be made again when it ends.
	steady = time.Minute
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
	asked := call.Receive
	if asked.Ends {
		endSubscription(ctx, s, client, asked)
		return nil, nil
	}
	if asked.Begins {
		if err := s.connect(ctx, client); err != nil {
			return nil, asyncAPIFailure(ctx, "subscribing to "+client.Target.String(), err)
		}
		return targetAsData(call.Target)
	}
	deliveries, err := receiveSteadily(ctx, s, client, asked)
	if err != nil {
		s.close(errors.Is(context.Cause(ctx), interpreter.ErrUnwanted))
		return nil, asyncAPIFailure(ctx, "receiving from "+client.Target.String(), err)
	}
	return readDeliveries(ctx, client.Target, deliveries, r.Memory)
}

// endSubscription tells the broker what was consumed, and has it forget the subscription. That is no reason to fail: the task has its messages, and
// what the broker does not hear now, it forgets by itself after a while.
func endSubscription(ctx context.Context, s *subscription, client *brokers.Client, asked *receiving) {
	within, cancel := context.WithTimeout(ctx, ending)
	defer cancel()
	if err := s.connect(within, client); err != nil {
		return
	}
	_ = s.consumed(within, asked.Done, asked.Known) // the same holds for this
	s.close(true)
}

// targetAsData returns where the messages are, for the requests to come.
func targetAsData(t *asyncapi.Target) (any, error) {
	data, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return expr.Decode(data)
}

// receiveSteadily receives messages, over another connection if one ends that has lasted.
func receiveSteadily(ctx context.Context, s *subscription, client *brokers.Client, asked *receiving) ([]*brokers.Delivery, error) {
	for {
		kept := s.connection != nil
		if err := s.connect(ctx, client); err != nil {
			return nil, err
		}
		deliveries, err := receiveSome(ctx, s, asked)
		if err == nil || ctx.Err() != nil || !kept && time.Since(s.madeAt) < steady {
			return deliveries, err
		}
		s.close(false)
	}
}

// receiveSome waits for a message, and takes those along that are there already.
func receiveSome(ctx context.Context, s *subscription, asked *receiving) ([]*brokers.Delivery, error) {
	if err := s.consumed(ctx, asked.Done, asked.Known); err != nil {
		return nil, err
	}
	if asked.Most == 0 {
		return nil, nil
	}
	first, err := s.next(ctx, 0, asked)
	if err != nil {
		return nil, err
	}
	all, bytes := []*brokers.Delivery{first}, len(first.Payload)
	for len(all) < asked.Most && bytes < enoughBytes {
		brief, cancel := context.WithTimeout(ctx, gathering)
		another, err := s.next(brief, len(all), asked)
		cancel()
		if err != nil { // there is none, or the next effect will see what is wrong
			break
		}
		all, bytes = append(all, another), bytes+len(another.Payload)
	}
	return all, nil
}

// readDeliveries decodes messages, within the memory that all effects share.
func readDeliveries(ctx context.Context, target asyncapi.Target, deliveries []*brokers.Delivery, memory interpreter.Memory) (any, error) {
	if err := reserveFor(ctx, deliveries, memory); err != nil {
		return nil, err
	}
	all := make([]any, 0, len(deliveries))
	for _, d := range deliveries {
		one := map[string]any{"handle": d.Handle}
		if message, err := readMessage(target, d.Message); err != nil { // it would come again and again, unless the task says that it has had it
			one["broken"] = err.Error()
		} else {
			one["message"] = message
		}
		all = append(all, one)
	}
	return all, nil
}

// reserveFor reserves memory for what messages are decoded to.
func reserveFor(ctx context.Context, deliveries []*brokers.Delivery, memory interpreter.Memory) error {
	bytes, values := 0, 0
	for _, d := range deliveries {
		bytes, values = bytes+len(d.Payload), values+expr.DecodedSize(d.Payload)
	}
	if memory == nil || bytes <= unreserved {
		return nil
	}
	if err := memory.Reserve(ctx, int64(bytes)*perByte); err != nil {
		return err
	}
	return memory.ReserveValues(ctx, int64(values))
}

// readMessage returns what the task gets of a message (semantics 11.10b).
func readMessage(target asyncapi.Target, m brokers.Message) (map[string]any, error) {
	payload, err := readPayload(cmp.Or(m.ContentType, target.ContentType), m.Payload)
	if err != nil {
		return nil, fmt.Errorf("a message of %s says that it is JSON, and is not: %w", target.String(), err)
	}
	headers := map[string]any{}
	for name, value := range m.Headers {
		headers[name] = strings.ToValidUTF8(value, "\uFFFD")
	}
	message := map[string]any{"payload": payload, "headers": headers, "correlationId": nil}
	if id := cmp.Or(target.CorrelationID(&asyncapi.Content{Headers: headers, Payload: payload}), m.CorrelationID); id != "" {
		message["correlationId"] = strings.ToValidUTF8(id, "\uFFFD")
	}
	return message, nil
}

// readPayload decodes a payload as responses are decoded. Without a content type it is JSON, if it can be, as what is published is.
func readPayload(contentType string, payload []byte) (any, error) {
	if len(payload) > 0 && (contentType == "" || isJSON(mediaType(contentType))) {
		v, err := expr.Decode(payload)
		if err == nil || contentType != "" {
			return v, err
		}
	}
	return decodeContent(contentType, payload)
}
