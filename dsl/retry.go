package dsl

import (
	"fmt"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/duration"
)

// RetryPolicy specifies the conditions, the number and the delays of retries.
type RetryPolicy struct {
	Pointer         Pointer
	When            Expression
	ExceptWhen      Expression
	Delay           *Duration
	Backoff         string // constant, linear or exponential; empty if absent: constant if there is a delay
	AttemptCount    *int   // limit.attempt.count: retries, the first try excluded; nil is unlimited
	AttemptDuration *Duration
	LimitDuration   *Duration
	JitterFrom      *Duration
	JitterTo        *Duration
	// Delays are the delays before each retry; the last delay also applies to all further retries. They replace Delay and Backoff.
	Delays []*Duration
}

// RetryPolicyOf returns the retry policy of a catch, or the policy in use.retries that it names, with the delays that its task lists; nil if there is
// no policy.
func (w *Workflow) RetryPolicyOf(c *Catch) *RetryPolicy {
	policy := c.Retry
	if c.RetryUse.Name != "" {
		policy = w.Use.Retries[c.RetryUse.Name]
	}
	if policy == nil || len(c.delays) == 0 {
		return policy
	}
	listed := *policy
	listed.Delays = c.delays
	return &listed
}

// ListedDelay returns the delay before retry n, which counts from 1, if the policy lists its delays; nil otherwise.
func (r *RetryPolicy) ListedDelay(n int) *Duration {
	if len(r.Delays) == 0 {
		return nil
	}
	return r.Delays[min(n, len(r.Delays))-1]
}

// The delay of a policy without a delay.
const (
	defaultDelay    = 500 * time.Millisecond
	maxDefaultDelay = 2 * time.Minute
)

// DelayBefore returns the delay before retry n, which counts from 1, without jitter; delay is the length of the policy's own delay (semantics 7.10).
// A policy with neither delay nor jitter waits half a second that grows with its backoff, exponentially by default: 1 s, 2 s, 4 s and so on, up to
// two minutes. For a policy that lists its delays, delay is the listed delay.
func (r *RetryPolicy) DelayBefore(n int, delay time.Duration) time.Duration {
	if len(r.Delays) > 0 {
		return delay
	}
	if !r.usesDefaultDelay() {
		return grown(delay, r.Backoff, n)
	}
	backoff := r.Backoff
	if backoff == "" {
		backoff = "exponential"
	}
	return min(grown(defaultDelay, backoff, n), maxDefaultDelay)
}

// usesDefaultDelay reports whether the policy specifies no delay.
func (r *RetryPolicy) usesDefaultDelay() bool {
	return r.Delay == nil && r.JitterFrom == nil && r.JitterTo == nil && len(r.Delays) == 0
}

// grown returns the delay before retry n, at most duration.Max.
func grown(delay time.Duration, backoff string, n int) time.Duration {
	factor := time.Duration(1)
	switch backoff {
	case "linear":
		factor = time.Duration(n)
	case "exponential":
		factor = 1 << min(n, 62)
	}
	if delay > duration.Max/factor {
		return duration.Max
	}
	return delay * factor
}

func (p *parser) retryPolicy(n *yaml.Node, at Pointer) *RetryPolicy {
	o := p.object(n, at, "a retry policy", "when", "exceptWhen", "delay", "backoff", "limit", "jitter")
	r := &RetryPolicy{Pointer: at, When: o.expression("when"), ExceptWhen: o.expression("exceptWhen"), Delay: o.duration("delay")}
	r.Backoff = p.backoff(o)
	if n := o.value("limit"); n != nil {
		limit := p.object(n, at.Key("limit"), "`limit`", "attempt", "duration")
		r.LimitDuration = limit.duration("duration")
		if n := limit.value("attempt"); n != nil {
			attempt := p.object(n, limit.at.Key("attempt"), "`attempt`", "count", "duration")
			r.AttemptCount, r.AttemptDuration = attempt.count("count"), attempt.duration("duration")
		}
	}
	if n := o.value("jitter"); n != nil {
		jitter := p.object(n, at.Key("jitter"), "`jitter`", "from", "to")
		jitter.require("from", "to")
		r.JitterFrom, r.JitterTo = jitter.duration("from"), jitter.duration("to")
	}
	return r
}

func backoffs() []string { return []string{"constant", "exponential", "linear"} }

func (p *parser) backoff(parent *object) string {
	n := parent.value("backoff")
	if n == nil {
		return ""
	}
	if n.Kind == yaml.MappingNode && len(n.Content) > 0 && !slices.ContainsFunc(backoffs(), func(kind string) bool { key, _ := source.Child(n, kind); return key != nil }) &&
		otherKeyFor(n.Content[0].Value, backoffs()) == "" {
		p.add(Diagnostic{Code: "SW122", Message: "`backoff` needs exactly one of `constant`, `exponential`, `linear`", Pointer: parent.at.Key("backoff"),
			Range: p.src.RangeOf(n.Content[0]), Help: "write `backoff: { exponential: {} }`, which doubles the delay each time, and the first delay as `delay` beside it"})
		return "constant"
	}
	o := p.object(n, parent.at.Key("backoff"), "`backoff`", backoffs()...)
	kind := o.exactlyOne(backoffs()...)
	if kind == "" {
		return "constant"
	}
	properties := o.value(kind)
	if properties.Kind != yaml.MappingNode {
		p.wrongType(properties, o.at.Key(kind), "`"+kind+"`", objects)
		return kind
	}
	for i := 0; i+1 < len(properties.Content); i += 2 {
		key := properties.Content[i]
		p.add(Diagnostic{
			Code: "SW127", Message: fmt.Sprintf("`%s` of a backoff has no effect", key.Value), Pointer: o.at.Key(kind).Key(key.Value),
			Range: p.src.RangeOf(key), Help: "the DSL gives backoffs no properties; the delay grows from `delay`",
		})
	}
	return kind
}
