package server_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/internal/access"
	"github.com/swrun/swrun/internal/api"
)

// TestTroubleOfOthers: a token for one namespace cannot acknowledge trouble of another one, or remove an acknowledgement there. A viewer changes
// nothing.
func TestTroubleOfOthers(t *testing.T) {
	g := mustGuard(t, nil)
	g.now.run()
	defer working(t, g.engine)()
	root := g.token(t, "root", access.Grant{Role: access.RoleAdmin, Everywhere: true})
	mine := g.token(t, "mine", access.Grant{Role: access.RoleOperator, Namespaces: []string{"mine"}})
	looks := g.token(t, "looks", access.Grant{Role: access.RoleViewer, Everywhere: true})
	groups := map[string]string{}
	for _, namespace := range []string{"mine", "other"} {
		g.troubled(t, namespace, root)
		w := g.send("GET", "/v1/trouble?namespace="+namespace, "", "Authorization", root)
		var found api.Trouble
		if err := json.Unmarshal(w.Body.Bytes(), &found); err != nil || len(found.Groups) != 1 || found.Groups[0].Runs != 1 {
			t.Fatalf("%v %s", err, w.Body)
		}
		groups[namespace] = found.Groups[0].Group
	}
	for _, c := range []struct {
		path, body, token string
		want              int
	}{
		{"acknowledge?namespace=other", groups["mine"], root, 404},
		{"acknowledge?namespace=other", groups["other"], mine, 404},
		{"acknowledge?namespace=no/name", groups["other"], root, 422},
		{"unacknowledge?namespace=mine", groups["mine"], root, 404},
		{"acknowledge?namespace=mine", groups["mine"], root, 200},
		{"unacknowledge?namespace=other", groups["mine"], root, 404},
		{"unacknowledge?namespace=mine", groups["mine"], root, 200},
		{"acknowledge", groups["other"], mine, 404},
		{"acknowledge", groups["mine"] + `", "` + groups["other"], mine, 404},
		{"acknowledge", groups["mine"], looks, 403},
		{"acknowledge", groups["mine"], mine, 200},
		{"acknowledge", groups["other"], root, 200},
		{"unacknowledge", groups["other"], mine, 404},
		{"unacknowledge", groups["mine"], mine, 200},
		{"unacknowledge", groups["mine"], mine, 404},
		{"acknowledge", "", mine, 404},
	} {
		g.now.pass(time.Second)
		w := g.send("POST", "/v1/trouble/"+c.path, `{"groups": ["`+c.body+`"], "reason": "why not"}`, "Authorization", c.token)
		if w.Code != c.want {
			t.Errorf("%s %s: want %d, got %d %s", c.path, c.body, c.want, w.Code, w.Body)
		}
	}
	for token, want := range map[string]string{root: `"acknowledged":1`, mine: `"acknowledged":0`} {
		if w := g.send("GET", "/v1/trouble", "", "Authorization", token); !strings.Contains(w.Body.String(), want) || !strings.Contains(w.Body.String(), groups["mine"]) {
			t.Errorf("want %s, got %s", want, w.Body)
		}
	}
	for _, body := range []string{`{"groups": []}`, `{"groups": [""], "reason": "` + strings.Repeat("x", 5000) + `"}`, `{}`} {
		g.now.pass(time.Second)
		if w := g.send("POST", "/v1/trouble/acknowledge", body, "Authorization", root); w.Code != 422 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}
