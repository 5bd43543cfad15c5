package redisstore

import (
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// TestSeedsOfAClusterURL: a URL may name several servers of one cluster, with commas between them or as parameters addr.
func TestSeedsOfAClusterURL(t *testing.T) {
	all := []string{"a:7000", "b:7001", "c:7002"}
	for _, rawURL := range []string{
		"redis+cluster://a:7000,b:7001,c:7002", "redis+cluster://user:secret@a:7000,b:7001,c:7002/?deployment=x",
		"redis+cluster://a:7000?addr=b:7001&addr=c:7002", "redis+cluster://a:7000,b:7001?addr=c:7002",
	} {
		client, _, err := connect(rawURL, Config{})
		if err != nil {
			t.Errorf("%s: %v", rawURL, err)
			continue
		}
		got := client.(*redis.ClusterClient).Options().Addrs
		_ = client.Close()
		if slices.Sort(got); !slices.Equal(got, all) {
			t.Errorf("%s: the servers are %v", rawURL, got)
		}
	}
	for rawURL, says := range map[string]string{
		"redis://a:7000,b:7001":                "only redis+cluster:// takes several",
		"redis+cluster://a:7000,":              "invalid port",
		"redis+cluster://,a:7000":              "empty server",
		"redis+cluster://a:7000,,b:7001":       "empty server",
		"redis+cluster://a:99999,b:7001":       "port",
		"rediss://user:secret@a:7000,b:7001/0": "only rediss+cluster:// takes several",
	} {
		_, _, err := connect(rawURL, Config{})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", rawURL, err)
		}
	}
}
