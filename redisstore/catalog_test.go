package redisstore_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/swrun/swrun/redisstore"
	"github.com/swrun/swrun/redisstore/redistest"
)

// TestDefinedByMany: processes that store the same definition at the same time all succeed.
func TestDefinedByMany(t *testing.T) {
	server := redistest.Start(t)
	stores := []*redisstore.Store{mustOpen(t, server.URL(), redisstore.Config{}), mustOpen(t, server.URL(), redisstore.Config{})}
	for n := range 200 {
		var all sync.WaitGroup
		for _, s := range stores {
			all.Go(func() {
				if err := s.Define(t.Context(), fmt.Sprint("k", n), []byte("v")); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}
