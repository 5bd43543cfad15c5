package server_test

import (
	"net/http"
	"testing"

	"github.com/swrun/swrun/internal/api"
)

// TestCommandsWithoutEffect: the answer contains the reason for which a command changes nothing.
func TestCommandsWithoutEffect(t *testing.T) {
	d := mustDeployment(t)
	d.mustDeploy(t, "wait", waits)
	d.mustStart(t, "wait", "one")
	d.until(t, "one", func(r api.Description) bool { return r.Status == "waiting" })
	for command, want := range map[string]string{"suspend": "", "resume": "it is not suspended"} {
		a := d.ask(t, "POST", "/v1/runs/"+command, `{"runs": ["demo/one"], "dryRun": true}`)
		if all := mustRead[api.Outcomes](t, a, http.StatusOK); all.Outcomes[0].NoEffect != want {
			t.Errorf("%s: %s", command, a.body)
		}
	}
}
