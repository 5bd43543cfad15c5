package memstore_test

import (
	"testing"
	"time"

	"github.com/swrun/swrun/memstore"
	"github.com/swrun/swrun/runtime/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Opened {
		clock := &storetest.Clock{At: time.UnixMilli(1_700_000_000_000)}
		return storetest.Opened{Store: memstore.New(memstore.Config{Partitions: 4, Now: clock.Now}), Advance: clock.Advance}
	})
}
