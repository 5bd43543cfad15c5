package tasks

import (
	"net/url"
	"strings"
	"testing"
)

func TestURITemplate(t *testing.T) {
	input := map[string]any{"id": 7, "name": "Ü b/c", "a.b": "dotted", "flag": true, "list": []any{1}, "words": []any{"red", "grün"}, "gaps": []any{1, nil, true}, "nothing": []any{}, "deep": []any{[]any{}}, "upward": []any{"a", ".."},
		"keys": map[string]any{"a": 1, "b": "ü", "c": "", "d": nil}, "deeper": map[string]any{"a": map[string]any{}}, "gone": map[string]any{"a": nil}, "large": 9007199254740993, "none": nil, "empty": "", "blank": " ", "up": "..", "here": "."}
	for _, c := range []struct{ name, template, want, wantErr string }{
		{"11.7 a number", "https://x.test/{id}", "https://x.test/7", ""},
		{"11.7 text is encoded", "https://x.test/{name}", "https://x.test/%C3%9C%20b%2Fc", ""},
		{"11.7 a name with a dot is one property", "https://x.test/{a.b}", "https://x.test/dotted", ""},
		{"11.7 a boolean", "https://x.test/{flag}", "https://x.test/true", ""},
		{"a missing one is an error", "https://x.test/{missing}/y", "", `"missing" of the URI template "https://x.test/{missing}/y" is missing`},
		{"null is an error", "https://x.test/{none}/y", "", `"none" of the URI template "https://x.test/{none}/y" is null`},
		{"empty text is an error in a path", "https://x.test/{empty}", "", `is ""`},
		{"so is blank text", "https://x.test/{blank}", "", `is " "`},
		{"so is what leads upward", "https://x.test/a/{up}", "", `is ".."`},
		{"so is what leads nowhere", "https://x.test/a/{here}/b", "", `is "."`},
		{"in the host too", "https://{missing}/a", "", "is missing"},
		{"in a segment of its own", "https://x.test{/missing}", "", "is missing"},
		{"with reserved characters", "https://x.test/{+empty}", "", `is ""`},
		{"as one of several", "https://x.test/{id,none}", "", "is null"},
		{"missing in a query", "https://x.test/?a={missing}", "", "is missing"},
		{"empty in a query", "https://x.test/?a={empty}", "https://x.test/?a=", ""},
		{"a parameter that is left out", "https://x.test/{?missing,id}", "https://x.test/?id=7", ""},
		{"a parameter that is left out of more", "https://x.test/?a=b{&none,id}", "https://x.test/?a=b&id=7", ""},
		{"the password of a template is left out", "https://ada:p%zw@x.test/{missing}", "", `"https://xxxxx@x.test/{missing}"`},
		{"11.7 in the query", "https://x.test/?status={id}", "https://x.test/?status=7", ""},
		{"11.7 digits survive", "https://x.test/{large}", "https://x.test/9007199254740993", ""},
		{"11.7 several in one", "https://x.test/{id,flag}", "https://x.test/7,true", ""},
		{"11.7 an array is an error", "https://x.test/{list}", "", "a scalar is needed, or {list*} in the template"},
		{"an object is an error", "https://x.test/{+keys}", "", "is an object; a scalar is needed, or {keys*}"},
		{"a part of a text", "https://x.test/{name:1}", "https://x.test/%C3%9C", ""},
		{"two parts of a text", "https://x.test/{name:1}/{name:3}/{name}", "https://x.test/%C3%9C/%C3%9C%20b/%C3%9C%20b%2Fc", ""},
		{"more than all of a text", "https://x.test/{name:99}", "https://x.test/%C3%9C%20b%2Fc", ""},
		{"a part of an array is an error", "https://x.test/{?list:2}", "", "is an array"},
		{"an array that is written out", "https://x.test/{words*}", "https://x.test/red,gr%C3%BCn", ""},
		{"an array of segments", "https://x.test{/words*}", "https://x.test/red/gr%C3%BCn", ""},
		{"an array in a segment", "https://x.test{/words}", "https://x.test/red,gr%C3%BCn", ""},
		{"an array of labels", "https://x.test/a{.words*}", "https://x.test/a.red.gr%C3%BCn", ""},
		{"an array of parameters", "https://x.test/a{;words*}", "https://x.test/a;words=red;words=gr%C3%BCn", ""},
		{"an array in the query", "https://x.test/{?words*}", "https://x.test/?words=red&words=gr%C3%BCn", ""},
		{"an array in one parameter", "https://x.test/{?words}", "https://x.test/?words=red,gr%C3%BCn", ""},
		{"an array in the fragment", "https://x.test/{#words*}", "https://x.test/#red,gr%C3%BCn", ""},
		{"an array with null", "https://x.test/{?gaps*}", "https://x.test/?gaps=1&gaps=true", ""},
		{"an array of nothing in the query", "https://x.test/{?nothing*,id}", "https://x.test/?id=7", ""},
		{"an array of nothing in the path", "https://x.test{/nothing*}", "", "is empty"},
		{"an array of arrays", "https://x.test/{?deep*}", "", "scalars are needed"},
		{"an array that leads upward", "https://x.test{/upward*}", "", `has ".." in it`},
		{"an object in the query", "https://x.test/{?keys*}", "https://x.test/?a=1&b=%C3%BC&c=", ""},
		{"an object in one parameter", "https://x.test/{?keys}", "https://x.test/?keys=a,1,b,%C3%BC,c,", ""},
		{"an object in the rest of the query", "https://x.test/?x=1{&keys*}", "https://x.test/?x=1&a=1&b=%C3%BC&c=", ""},
		{"an object of objects", "https://x.test/{?deeper*}", "", "scalars are needed"},
		{"an object of nothing", "https://x.test/{?gone*}", "https://x.test/", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, err := parseTemplate(c.template)
			if err != nil {
				t.Fatal(err)
			}
			got, fault := u.fill(input)
			if c.wantErr != "" {
				if fault == nil || !strings.Contains(fault.Detail, c.wantErr) {
					t.Errorf("got %q, %v; want an error with %q", got, fault, c.wantErr)
				}
				return
			}
			if fault != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, fault, c.want)
			}
		})
	}
}

func TestURITemplateRefuses(t *testing.T) {
	for _, template := range []string{"https://x.test/{", "https://x.test/{id", "https://x.test/{}", "https://x.test/{id:0}", "https://x.test/{id:}", "https://x.test/{id:01}", "https://x.test/{id:10000}", "https://x.test/{id:a}"} {
		if u, err := parseTemplate(template); err == nil {
			t.Errorf("%q is taken: %+v", template, u)
		}
	}
}

// FuzzURITemplate: no template and no value makes the expansion panic, and a value never adds to a URI's structure.
func FuzzURITemplate(f *testing.F) {
	f.Add("https://x.test/{id}", "7")
	f.Add("https://x.test/{+id}{#id}{?id*}", "a/b?c#d")
	f.Add("{", "}")
	f.Add("{id:3}", "ünïcode")
	f.Fuzz(func(t *testing.T, template, value string) {
		u, err := parseTemplate(template)
		if err != nil {
			return
		}
		_, _ = u.fill(map[string]any{"id": value}) // an error is fine
		plain, err := parseTemplate("https://x.test/{id}/end")
		if err != nil {
			t.Fatal(err)
		}
		expanded, fault := plain.fill(map[string]any{"id": value})
		if refused := strings.TrimSpace(value) == "" || value == "." || value == ".."; refused != (fault != nil) {
			t.Errorf("%q: %v", value, fault)
		}
		if fault != nil {
			return
		}
		if parsed, err := url.Parse(expanded); err != nil || parsed.Host != "x.test" || !strings.HasSuffix(parsed.Path, "/end") {
			t.Errorf("%q becomes %q: %v", value, expanded, err)
		}
	})
}
