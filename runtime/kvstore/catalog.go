package kvstore

import (
	"context"
	"strings"

	"github.com/swrun/swrun/runtime/store"
)

// Definition implements store.Catalog.
func (s *Store) Definition(_ context.Context, key string) (data []byte, err error) {
	err = s.view(0, func(p *partition) error {
		value, ok := p.Get(definitionPrefix + key)
		if !ok {
			return store.Refuse(store.NoSuch, p.now, "definition %s", key)
		}
		data = clone(value)
		return nil
	})
	return data, err
}

// Definitions implements store.Catalog.
func (s *Store) Definitions(_ context.Context, prefix string) (keys []string, err error) {
	err = s.view(0, func(p *partition) error {
		p.Scan(definitionPrefix+prefix, definitionPrefix+prefix, func(key string, _ []byte) bool {
			keys = append(keys, strings.TrimPrefix(key, definitionPrefix))
			return true
		})
		return nil
	})
	return keys, err
}

// DefinitionsBy implements store.Catalog.
func (s *Store) DefinitionsBy(_ context.Context, prefix string) (all map[string][]byte, err error) {
	all = map[string][]byte{}
	err = s.view(0, func(p *partition) error {
		p.Scan(definitionPrefix+prefix, definitionPrefix+prefix, func(key string, value []byte) bool {
			all[strings.TrimPrefix(key, definitionPrefix)] = clone(value)
			return true
		})
		return nil
	})
	return all, err
}

// Define implements store.Catalog.
func (s *Store) Define(ctx context.Context, key string, data []byte) error {
	return s.update(ctx, 0, func(p *partition) error {
		kept, ok := p.Get(definitionPrefix + key)
		if ok && string(kept) != string(data) {
			return store.Refuse(store.Conflict, p.now, "definition %s", key)
		}
		p.Put(definitionPrefix+key, data)
		return nil
	})
}

// Undefine implements store.Catalog.
func (s *Store) Undefine(ctx context.Context, key string, data []byte) error {
	return s.update(ctx, 0, func(p *partition) error {
		switch kept, ok := p.Get(definitionPrefix + key); {
		case !ok:
			return store.Refuse(store.NoSuch, p.now, "definition %s", key)
		case string(kept) != string(data):
			return store.Refuse(store.Conflict, p.now, "definition %s", key)
		}
		p.Delete(definitionPrefix + key)
		return nil
	})
}
