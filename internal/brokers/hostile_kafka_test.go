package brokers_test

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/internal/brokers/brokertest"
)

// TestAnnouncedRecords: a batch that announces more records than it can contain takes no memory for them.
func TestAnnouncedRecords(t *testing.T) {
	for name, attributes := range map[string]uint16{"plain": 0, "compressed": 1} {
		t.Run(name, func(t *testing.T) {
			cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "c"))
			if err != nil {
				t.Fatal(err)
			}
			defer cluster.Close()
			cluster.ControlKey(int16(kmsg.Fetch), func(asked kmsg.Request) (kmsg.Response, error, bool) {
				cluster.KeepControl()
				return announcing(asked.(*kmsg.FetchRequest), attributes), nil, true
			})
			ctx, cancel := context.WithCancel(soon(t))
			defer cancel()
			before := brokertest.Allocated()
			err = received(ctx, client("kafka", cluster.ListenAddrs()[0], "c"))
			if took := brokertest.Allocated() - before; took > 64<<20 {
				t.Errorf("%d MiB were allocated", took>>20)
			}
			if !errors.Is(err, brokers.ErrTooLarge) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// announcing answers with a batch of 900 000 bytes that announces the maximum number of records.
func announcing(asked *kmsg.FetchRequest, attributes uint16) *kmsg.FetchResponse {
	const bytes, header = 900_000, 61
	batch := make([]byte, header+bytes)
	binary.BigEndian.PutUint32(batch[8:], header-12+bytes)
	batch[16] = 2
	binary.BigEndian.PutUint16(batch[21:], attributes)
	binary.BigEndian.PutUint32(batch[57:], 1<<31-1)
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], crc32.MakeTable(crc32.Castagnoli)))
	answer := asked.ResponseKind().(*kmsg.FetchResponse)
	for _, topic := range asked.Topics {
		to := kmsg.NewFetchResponseTopic()
		to.Topic, to.TopicID = topic.Topic, topic.TopicID
		for _, partition := range topic.Partitions {
			of := kmsg.NewFetchResponseTopicPartition()
			of.Partition, of.HighWatermark, of.LastStableOffset, of.RecordBatches = partition.Partition, 1, 1, batch
			to.Partitions = append(to.Partitions, of)
		}
		answer.Topics = append(answer.Topics, to)
	}
	return answer
}
