package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"testing"
	"time"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/spec"
	"gopkg.in/yaml.v3"
)

func TestProbe(t *testing.T) {
	official, exact, editor := mustOfficial(t), mustSchema(t, spec.Schema()), mustSchema(t, spec.EditorSchema())
	files, _ := filepath.Glob(officialFolder + "/examples/*.yaml")
	seen := map[string]bool{}
	total, n := 0, 0
	groups := map[string][]string{}
	var d [6]time.Duration
	for _, f := range append(files, "../dsl/testdata/valid/everything.yaml") {
		text, _ := os.ReadFile(f)
		docs := []*yaml.Node{mustNode(t, text)}
		if len(files) > 0 && filepath.Base(f) == "everything.yaml" {
			docs = pieces(docs[0])
		}
		for _, doc := range docs {
			t0 := time.Now()
			ms := mutations(doc)
			d[0] += time.Since(t0)
			for _, m := range ms {
				total++
				if seen[m.place()] {
					continue
				}
				seen[m.place()] = true
				n++
				t0 = time.Now()
				text := m.text(t)
				d[1] += time.Since(t0)
				t0 = time.Now()
				_, ds := dsl.Parse("m.yaml", text)
				d[2] += time.Since(t0)
				v := plain(mustNode(t, text))
				t0 = time.Now()
				b := exact.Validate(v) == nil
				d[3] += time.Since(t0)
				t0 = time.Now()
				c := official.Validate(v) == nil
				d[4] += time.Since(t0)
				t0 = time.Now()
				e := editor.Validate(v) == nil
				d[5] += time.Since(t0)
				a := ds.Err() == nil
				if a == b && b == c && c == e {
					continue
				}
				if m.what == doubled && !a && b && c && e {
					continue
				}
				code := ""
				if ds.Err() != nil {
					code = ds.Errors()[0].Code + " " + ds.Errors()[0].Message
				}
				k := fmt.Sprintf("parse=%v exact=%v official=%v editor=%v", a, b, c, e)
				groups[k] = append(groups[k], filepath.Base(f)+" "+m.String()+"  "+code)
			}
		}
	}
	t.Log(total, n, d)
	var ks []string
	for k := range groups {
		ks = append(ks, k)
	}
	sort.Strings(ks)
	for _, k := range ks {
		t.Log(k, len(groups[k]))
		for _, s := range groups[k] {
			fmt.Println(k, "|", s)
		}
	}
}
