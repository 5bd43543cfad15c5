package sinks_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/swrun/swrun/internal/eventfile"
	"github.com/swrun/swrun/redisstore/redistest"
)

func toHTTP(t *testing.T, got *received) eventfile.Sink {
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if media := r.Header.Get("Content-Type"); !strings.HasPrefix(media, "application/cloudevents+json") {
			t.Errorf("the content type is %s", media)
		}
		body, _ := io.ReadAll(r.Body)
		got.add(t, body)
	}))
	t.Cleanup(hook.Close)
	return eventfile.Sink{Kind: "http", URL: hook.URL}
}

func toRedis(t *testing.T, got *received) eventfile.Sink {
	s := redistest.Start(t)
	client := redis.NewClient(&redis.Options{Addr: s.Addr})
	t.Cleanup(func() { client.Close() })
	go func() {
		for last := "0"; ; {
			streams, err := client.XRead(t.Context(), &redis.XReadArgs{Streams: []string{"out", last}, Block: time.Second}).Result()
			if t.Context().Err() != nil {
				return
			}
			for n := 0; err == nil && n < len(streams[0].Messages); n++ {
				last = streams[0].Messages[n].ID
				got.add(t, []byte(streams[0].Messages[n].Values["event"].(string)))
			}
		}
	}()
	return eventfile.Sink{Kind: "redis", URL: "redis://" + s.Addr, Stream: "out", MaxLength: 1000}
}

func toNATS(t *testing.T, got *received) eventfile.Sink {
	port, _ := strconv.Atoi(redistest.FreePort(t))
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	must(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	conn, err := nats.Connect(s.ClientURL())
	must(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	must(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "OUT", Subjects: []string{"out"}})
	must(t, err)
	_, err = conn.Subscribe("out", func(m *nats.Msg) { got.add(t, m.Data) })
	must(t, err)
	must(t, conn.Flush())
	return eventfile.Sink{Kind: "nats", URL: s.ClientURL(), Subject: "out"}
}

func toKafka(t *testing.T, got *received) eventfile.Sink {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "out"))
	must(t, err)
	t.Cleanup(cluster.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ConsumeTopics("out"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	must(t, err)
	t.Cleanup(client.Close)
	go func() {
		for t.Context().Err() == nil {
			client.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) { got.add(t, r.Value) })
		}
	}()
	return eventfile.Sink{Kind: "kafka", Brokers: cluster.ListenAddrs(), Topic: "out"}
}
