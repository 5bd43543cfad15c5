package kvstore

import (
	"context"

	"github.com/swrun/swrun/runtime/store"
)

// Examine implements store.Examiner: a database in memory is always well. Others have an Examine of their own.
func (s *Store) Examine(context.Context) []store.Ailment { return nil }
