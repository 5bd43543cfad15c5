// Package memstore keeps runs in memory: for tests, and for trying things out. Nothing outlives the process.
package memstore

import (
	"strings"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"github.com/swrun/swrun/runtime/kvstore"
	"github.com/swrun/swrun/runtime/store"
)

// Config configures a store. The zero value is useful.
type Config struct {
	Partitions int              // at most store.MaxPartitions; default store.DefaultPartitions
	Now        func() time.Time // the store's clock; default time.Now
}

// New returns an empty store.
func New(c Config) *kvstore.Store {
	if c.Partitions == 0 {
		c.Partitions = store.DefaultPartitions
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	layout := store.Layout{Deployment: "memory", Partitions: c.Partitions, Schema: store.Schema}
	s, err := kvstore.Open(&database{}, layout, c.Now)
	if err != nil {
		panic(err) // an empty database takes any layout
	}
	return s
}

// database is an ordered map. A transition checks everything before it writes, so that there is nothing to undo.
type database struct {
	mu sync.RWMutex
	tx transaction
}

func (d *database) View(f func(kvstore.Tx) error) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return f(&d.tx)
}

func (d *database) Update(f func(kvstore.Tx) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return f(&d.tx)
}

type transaction struct {
	values btree.Map[string, []byte]
}

func (t *transaction) Get(key string) ([]byte, bool) { return t.values.Get(key) }

func (t *transaction) Put(key string, value []byte) { t.values.Set(key, append([]byte(nil), value...)) }

func (t *transaction) Delete(key string) { t.values.Delete(key) }

func (t *transaction) Scan(prefix, from string, f func(string, []byte) bool) {
	t.values.Ascend(from, func(key string, value []byte) bool {
		return strings.HasPrefix(key, prefix) && f(key, value)
	})
}

func (t *transaction) ScanBack(prefix, to string, f func(string, []byte) bool) {
	t.values.Descend(to, func(key string, value []byte) bool {
		return key == to || strings.HasPrefix(key, prefix) && f(key, value)
	})
}
