package runtime_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/settings"
	"github.com/swrun/swrun/runtime/store"
	"github.com/swrun/swrun/runtime/worker"
)

// set changes settings of a namespace, or of the deployment.
func (h *host) set(scope settings.Scope, all ...string) {
	h.Helper()
	_, err := settings.Change(h.Context(), h.store, scope, func(s *settings.Settings) error {
		for _, one := range all {
			name, value, _ := strings.Cut(one, "=")
			if err := s.Set(name, value); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	h.must(err)
}

// ends returns after how long the run's deadlines end it, each with its kind.
func (h *host) ends(i store.Instance) string {
	h.Helper()
	d, err := h.client.Describe(h.Context(), i)
	h.must(err)
	var all []string
	for _, in := range d.Deadlines {
		all = append(all, in.Kind+" "+in.At.Sub(in.StartedAt).String())
	}
	return strings.Join(all, ", ")
}

// TestPromise178 and the settings of a deployment and its namespaces: an option of the start replaces or disables the document's timeout.
// Settings apply if neither specifies a timeout. A maximum always applies.
func TestPromise178(t *testing.T) {
	const plain, timed, run = "do: [{a: {wait: P1D}}]", "timeout: {after: PT2H}\ndo: [{a: {wait: P1D}}]", "{metadata: {swrun: {runTimeout: PT2H}}}\ndo: [{a: {wait: P1D}}]"
	const computed = "timeout: {after: '${ \"PT20H\" }'}\ndo: [{a: {wait: P1D}}]"
	for _, c := range []struct {
		name, deployment, namespace, document string
		start                                 client.StartOptions
		want                                  string
	}{
		{"nothing", "", "", plain, client.StartOptions{}, ""},
		{"the document's is taken away", "", "", timed, client.StartOptions{ExecutionTimeout: client.NoTimeout}, ""},
		{"the document's of a run is taken away", "", "", run, client.StartOptions{RunTimeout: client.NoTimeout}, ""},
		{"the deployment's default", "executionTimeout=1h runTimeout=30m", "", plain, client.StartOptions{}, "run 30m0s, execution 1h0m0s"},
		{"the namespace's default before it", "executionTimeout=1h", "executionTimeout=3h", plain, client.StartOptions{}, "execution 3h0m0s"},
		{"the document before a default", "executionTimeout=1h", "", timed, client.StartOptions{}, "workflow 2h0m0s"},
		{"the document of a run before a default", "runTimeout=1h", "", run, client.StartOptions{}, "run 2h0m0s"},
		{"the start before a default", "executionTimeout=1h", "", plain, client.StartOptions{ExecutionTimeout: 5 * time.Hour}, "execution 5h0m0s"},
		{"none takes a default away", "executionTimeout=1h runTimeout=1h", "", plain, client.StartOptions{ExecutionTimeout: client.NoTimeout, RunTimeout: client.NoTimeout}, ""},
		{"a maximum", "maxExecutionTimeout=4h", "maxRunTimeout=3h", plain, client.StartOptions{}, "run 3h0m0s, execution 4h0m0s"},
		{"a maximum, though none is asked for", "maxExecutionTimeout=4h", "", timed, client.StartOptions{ExecutionTimeout: client.NoTimeout}, "execution 4h0m0s"},
		{"the smaller maximum", "maxExecutionTimeout=4h executionTimeout=4h", "maxExecutionTimeout=1h", plain, client.StartOptions{}, "execution 1h0m0s"},
		{"a namespace cannot exceed the deployment", "maxExecutionTimeout=1h", "executionTimeout=3h", plain, client.StartOptions{}, "execution 1h0m0s"},
		{"within the maximum", "maxExecutionTimeout=4h", "", timed, client.StartOptions{}, "workflow 2h0m0s"},
		{"a computed timeout above the maximum", "maxExecutionTimeout=4h", "", computed, client.StartOptions{}, "execution 4h0m0s, workflow 20h0m0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t)
				h.set("", strings.Fields(c.deployment)...)
				h.set("test", strings.Fields(c.namespace)...)
				h.set("other", "maxExecutionTimeout=1s", "maxRunTimeout=1s")
				stop := h.work(worker.Config{})
				defer stop()
				i := h.start(c.document, c.start)
				time.Sleep(time.Second)
				if got := h.ends(i); got != c.want {
					t.Errorf("its deadlines are %q, want %q", got, c.want)
				}
			})
		})
	}
}

// TestMaximumIsRefused: a start that exceeds a maximum is refused with the allowed value, also if the document requests the excess.
func TestMaximumIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		h.set("", "maxExecutionTimeout=2h", "maxRunTimeout=1h")
		for _, c := range []struct {
			name string
			head string
			o    client.StartOptions
			want string
		}{
			{"a", "", client.StartOptions{ExecutionTimeout: 3 * time.Hour}, "executionTimeout: 3h is more than the maximum of 2h that is set for runs of the namespace test"},
			{"b", "", client.StartOptions{RunTimeout: 2 * time.Hour}, "runTimeout: 2h is more than the maximum of 1h that is set for runs of the namespace test"},
			{"c", "timeout: {after: PT3H}\n", client.StartOptions{}, "executionTimeout: the document's 3h is more than the maximum of 2h that is set for runs of the namespace test: start it with a shorter one"},
			{"d", "use: {timeouts: {long: {after: P1D}}}\ntimeout: long\n", client.StartOptions{}, "executionTimeout: the document's 1d is more than the maximum of 2h that is set for runs of the namespace test: start it with a shorter one"},
			{"e", "{metadata: {swrun: {runTimeout: PT2H}}}\n", client.StartOptions{}, "runTimeout: the document's 2h is more than the maximum of 1h that is set for runs of the namespace test: start it with a shorter one"},
			{"f", "", client.StartOptions{Deadline: time.Now().Add(3 * time.Hour)}, "deadline: 3h from now is more than the maximum of 2h that is set for runs of the namespace test"},
			{"g", "", client.StartOptions{Deadline: time.Now().Add(2 * time.Hour), ExecutionTimeout: 2 * time.Hour}, ""},
			{"h", "", client.StartOptions{Deadline: time.Now().Add(3 * time.Hour), Delay: time.Hour}, ""},
			{"i", "timeout: {after: PT3H}\n", client.StartOptions{ExecutionTimeout: time.Hour}, ""},
		} {
			h.deploy(c.name, c.head+"do: [{a: {wait: P1D}}]")
			_, err := h.client.Start(t.Context(), mustReference(t, "test/"+c.name), nil, c.o)
			var option *client.OptionError
			switch {
			case c.want == "" && err != nil, c.want != "" && (!errors.As(err, &option) || err.Error() != c.want):
				t.Errorf("%s: got %v, want %q", c.name, err, c.want)
			}
		}
	})
}

// TestSettingsHoldForNewRuns: a change soon applies to new runs. A repeated start finds its run after a change of settings, and children
// are limited too.
func TestSettingsHoldForNewRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t)
		defer h.work(worker.Config{})()
		again := func() (store.Instance, error) {
			h.deploy("w", "do: [{a: {wait: P1D}}]")
			return h.client.Start(t.Context(), mustReference(t, "test/w"), nil, client.StartOptions{ID: "x", ExecutionTimeout: 5 * time.Hour})
		}
		i, err := again()
		h.must(err)
		h.set("", "maxExecutionTimeout=1h", "runTimeout=2m")
		time.Sleep(settings.MaxAge)
		if _, err := again(); err != nil {
			t.Errorf("the start that is repeated: %v", err)
		}
		if got := h.ends(i); got != "execution 5h0m0s" {
			t.Errorf("the run has the deadlines %q", got)
		}
		h.deploy("child", "timeout: {after: PT3H}\ndo: [{a: {wait: P1D}}]")
		parent := h.start("do: [{a: {run: {workflow: {namespace: test, name: child, version: 0.1.0}}}}]", client.StartOptions{RunTimeout: time.Hour})
		time.Sleep(5 * time.Minute)
		if o := h.wait(parent); o.Status != interpreter.StatusFaulted || o.Fault.Status != 408 || o.TimedOut {
			t.Errorf("the parent ends as %+v", o)
		}
	})
}

func mustReference(t *testing.T, name string) definition.Reference {
	t.Helper()
	r, err := definition.ParseReference(name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
