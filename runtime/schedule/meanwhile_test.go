package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// TestDeployedMeanwhile: following a deployment reads it in several steps. If another process deploys or removes a version between any two
// of them, the final schedule matches the final deployment.
func TestDeployedMeanwhile(t *testing.T) {
	reconcile := func(ctx context.Context, s *Schedules) error { return s.reconcile(ctx) }
	follow := func(ctx context.Context, s *Schedules) error { return s.Follow(ctx, "demo", "tick") }
	for name, follows := range map[string]func(context.Context, *Schedules) error{"reconcile": reconcile, "follow": follow} {
		for _, c := range []struct {
			before, meanwhile []string // versions, of which the first is deployed first
			undeployed, want  string
		}{
			{meanwhile: []string{"1.0.0"}, want: "1.0.0"},
			{before: []string{"1.0.0"}, meanwhile: []string{"2.0.0"}, want: "2.0.0"},
			{before: []string{"1.0.0", "2.0.0"}, undeployed: "2.0.0", want: "1.0.0"},
			{before: []string{"1.0.0"}, undeployed: "1.0.0"},
		} {
			t.Run(fmt.Sprintf("%s after %v, meanwhile %v without %s", name, c.before, c.meanwhile, c.undeployed), func(t *testing.T) {
				for steps, over := 0, false; !over; steps++ {
					d := newDeployment(t)
					deployAll(t, d, c.before)
					between := &interrupting{Store: d.store, after: steps, do: func() {
						deployAll(t, d, c.meanwhile)
						undeploy(t, d, c.undeployed)
					}}
					s := New(Config{Store: between, Now: d.clock.Now, Log: slog.New(slog.DiscardHandler), Compile: compile})
					if err := follows(t.Context(), s); err != nil {
						t.Errorf("after %d steps: %v", steps, err)
					}
					if over = between.do != nil; over {
						break // it took fewer steps
					}
					x, err := s.Of(t.Context(), "demo", "tick")
					if store.RefusedAs(err) != store.NoSuch && err != nil || x.Workflow.Version != c.want {
						t.Errorf("after %d steps: the schedule is that of %q, not of %q: %v", steps, x.Workflow.Version, c.want, err)
					}
				}
			})
		}
	}
}

func deployAll(t *testing.T, d *deployment, versions []string) {
	t.Helper()
	for _, v := range versions {
		deployVersion(t, d, "tick", v, "{every: PT1H}")
	}
}

func undeploy(t *testing.T, d *deployment, version string) {
	t.Helper()
	if version == "" {
		return
	}
	if err := definition.Undeploy(t.Context(), d.store, definition.Reference{Namespace: "demo", Name: "tick", Version: version}); err != nil {
		t.Fatal(err)
	}
	if err := d.process(immortal).Follow(t.Context(), "demo", "tick"); err != nil {
		t.Fatal(err)
	}
}

// interrupting is the store of a process that calls another process after a number of operations.
type interrupting struct {
	store.Store
	after int
	do    func() // nil once it was done
}

func (i *interrupting) step() {
	do := i.do
	if i.after--; i.after < 0 && do != nil {
		i.do = nil
		do()
	}
}

func (i *interrupting) Definitions(ctx context.Context, prefix string) ([]string, error) {
	i.step()
	return i.Store.Definitions(ctx, prefix)
}

func (i *interrupting) DefinitionsBy(ctx context.Context, prefix string) (map[string][]byte, error) {
	i.step()
	return i.Store.DefinitionsBy(ctx, prefix)
}

func (i *interrupting) Definition(ctx context.Context, key string) ([]byte, error) {
	i.step()
	return i.Store.Definition(ctx, key)
}

func (i *interrupting) ListRegistered(ctx context.Context, l store.RegistryList) ([]store.Registered, error) {
	i.step()
	return i.Store.ListRegistered(ctx, l)
}

func (i *interrupting) Registered(ctx context.Context, k store.RegistryKind, key string) (store.Registered, error) {
	i.step()
	return i.Store.Registered(ctx, k, key)
}

func (i *interrupting) Register(ctx context.Context, r store.Registration) (store.Registered, error) {
	i.step()
	return i.Store.Register(ctx, r)
}

func (i *interrupting) Unregister(ctx context.Context, k store.RegistryKind, key string, version int64) error {
	i.step()
	return i.Store.Unregister(ctx, k, key, version)
}
