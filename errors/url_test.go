package errors_test

import (
	"strings"
	"testing"

	"github.com/swrun/swrun/errors"
)

func TestMaskURL(t *testing.T) {
	for _, c := range []struct{ given, want string }{
		{"", ""},
		{" ", " "},
		{"https://x.test/a?b=c", "https://x.test/a?b=c"},
		{"https://x.test/@scope/a", "https://x.test/@scope/a"},
		{"redis://localhost:6379/0?deployment=a", "redis://localhost:6379/0?deployment=a"},
		{"redis://:pw@localhost:6379", "redis://:xxxxx@localhost:6379"},
		{"redis://ada:pw@localhost", "redis://ada:xxxxx@localhost"},
		{"redis://ada:p%zzw@localhost/1", "redis://xxxxx@localhost/1"},
		{"redis://ada:p/w@localhost", "redis://xxxxx@localhost"},
		{"redis://ada:p?w@localhost", "redis://xxxxx@localhost"},
		{"redis://ada:p#w@localhost", "redis://xxxxx@localhost"},
		{"redis://ada:p w@localhost", "redis://xxxxx@localhost"},
		{"redis://ada:p[w]@localhost", "redis://xxxxx@localhost"},
		{"redis://ada:p@w@localhost", "redis://ada:xxxxx@localhost"},
		{"redis://ada:12/34@localhost", "redis://xxxxx@localhost"},
		{"redis://:12?34@localhost", "redis://xxxxx@localhost"},
		{"file:/a/b@c.db", "file:/a/b@c.db"},
		{"file:runs.db", "file:runs.db"},
		{"redis://ada:p\x01w@localhost", "redis://xxxxx@localhost"},
		{"redis://ada:p://w@localhost", "redis://xxxxx@localhost"},
		{"redis:ada:pw@localhost", "xxxxx@localhost"},
		{"ada:pw@localhost:6379", "xxxxx@localhost:6379"},
		{"//ada:pw@localhost", "//ada:xxxxx@localhost"},
		{"redis://localhost/?password=geheim", "redis://localhost/?password=xxxxx"},
		{"redis://localhost/?deployment=a&Password=ge;heim&partitions=4", "redis://localhost/?deployment=a&Password=xxxxx&partitions=4"},
		{"redis://localhost/?pass%77ord=geheim", "redis://localhost/?pass%77ord=xxxxx"},
		{"redis://localhost/?db_pwd=geheim", "redis://localhost/?db_pwd=xxxxx"},
		{"redis://u:a@localhost/?password=geheim", "redis://u:xxxxx@localhost/?password=xxxxx"},
		{"redis://localhost/?password=ge heim", "redis://localhost/?password=xxxxx"},
		{"rediss://localhost/?access_token=geheim#x", "rediss://localhost/?access_token=xxxxx"},
		{"https://x.test/a?X-Amz-Signature=geheim&n=1", "https://x.test/a?X-Amz-Signature=xxxxx&n=1"},
		{"redis://localhost/?password=ge@heim", "redis://localhost/?password=xxxxx"},
		{"redis://localhost/?password=ge#heim", "redis://localhost/?password=xxxxx"},
		{"file:runs.db?password=geheim", "file:runs.db?password=xxxxx"},
		{"https://x.test/cb#access_token=geheim", "https://x.test/cb#access_token=xxxxx"},
	} {
		if got := errors.MaskURL(c.given); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.given, got, c.want)
		}
	}
}

// FuzzMaskURL: no password is shown, regardless of its characters.
func FuzzMaskURL(f *testing.F) {
	f.Add("p%zzw")
	f.Add("a/b?c#d@e")
	f.Fuzz(func(t *testing.T, password string) {
		if len(password) < 4 || strings.Contains("redis://xxxxx@host.test/1", password) {
			return
		}
		given := "redis://ada:" + password + "@host.test/1"
		got := errors.MaskURL(given)
		if strings.Contains(got, password) {
			t.Errorf("%q becomes %q", given, got)
		}
	})
}
