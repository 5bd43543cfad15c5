package schedule

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// loads is a store that counts how often a definition is read.
type loads struct {
	store.Store
	count int
}

func (l *loads) Definition(ctx context.Context, key string) ([]byte, error) {
	l.count++
	return l.Store.Definition(ctx, key)
}

// deployed deploys a workflow with a schedule, and returns its name and the digest of its definition.
func deployed(t *testing.T, s store.Store, name, scheduled string) (r definition.Reference, digest string) {
	t.Helper()
	r, err := definition.Deploy(t.Context(), s, definition.Definition{File: name + ".yaml", Document: fmt.Sprintf(`
document: {dsl: 1.0.3, namespace: demo, name: %s, version: 1.0.0}
schedule: {%s}
do: [{a: {set: {n: 1}}}]`, name, scheduled)})
	if err != nil {
		t.Fatal(err)
	}
	if r, digest, err = definition.Resolve(t.Context(), s, r); err != nil {
		t.Fatal(err)
	}
	return r, digest
}

// TestPlansAreBounded: the size of cached plans is limited by the bytes of their compiled definitions. A plan in use is read and compiled
// once, for any number of other plans in between; unused plans are dropped.
func TestPlansAreBounded(t *testing.T) {
	l := &loads{Store: memstore.New(memstore.Config{Partitions: 1, Now: time.Now})}
	s := New(Config{Store: l, Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Compile: compile})
	const length = 200 << 10
	const others = 4*maxPlanBytes/length + 1
	used, usedDigest := deployed(t, l.Store, "used", "on: {one: {with: {type: used}}}")
	for n := range others {
		r, digest := deployed(t, l.Store, fmt.Sprint("long-", n), "on: {one: {with: {type: '"+strings.Repeat("x", length)+"'}}}")
		for range 2 {
			for _, one := range []struct {
				definition.Reference
				digest string
			}{{r, digest}, {used, usedDigest}} {
				if p, err := s.plan(t.Context(), one.Reference, one.digest); err != nil || p.digest != one.digest || p.trigger == nil {
					t.Fatalf("%v: %+v", err, p)
				}
			}
		}
		if kept := sizes(&s.plans); kept > 2*maxPlanBytes {
			t.Fatalf("plans of %d bytes are kept", kept)
		}
	}
	if l.count != others+1 {
		t.Errorf("%d plans were read %d times", others+1, l.count)
	}
}

// sizes returns how many bytes the plans count for that are kept.
func sizes(p *plans) (bytes int) {
	for _, kept := range []map[string]*plan{p.now, p.before} {
		for _, one := range kept {
			bytes += one.size()
		}
	}
	return bytes
}

// TestManyPlansAreBounded: short plans are limited by their number, and a plan above the total limit is cached alone.
func TestManyPlansAreBounded(t *testing.T) {
	p := &plans{}
	for n := range 5 * maxPlans {
		p.keep(&plan{digest: fmt.Sprint(n)})
		if len(p.now) > maxPlans || len(p.before) > maxPlans {
			t.Fatalf("%d and %d plans are kept", len(p.now), len(p.before))
		}
	}
	huge := &plan{digest: "huge", trigger: &trigger{bytes: 3 * maxPlanBytes}}
	for range 2 {
		p.keep(huge)
	}
	if p.of("huge") != huge || len(p.now) != 1 {
		t.Errorf("the huge plan is with %d others", len(p.now)-1)
	}
	p.keep(&plan{digest: "small"})
	if p.of("small") == nil || len(p.now) != 1 {
		t.Errorf("the plan after the huge one is with %d others", len(p.now)-1)
	}
}
