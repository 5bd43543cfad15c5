package store

import (
	"fmt"

	"github.com/swrun/swrun/errors"
)

// MaxPartitions is the most partitions that a deployment can have.
const MaxPartitions = 4096

// Valid returns why a layout cannot be that of a deployment: memory is reserved for each of its partitions. Only a layout of this version is checked
// beyond its schema.
func (l Layout) Valid() error {
	switch {
	case l.Schema < 1:
		return errors.New("it does not say the schema")
	case l.Schema <= Schema && (l.Partitions < 1 || l.Partitions > MaxPartitions):
		return fmt.Errorf("it has %d partitions, and a deployment has from 1 to %d", l.Partitions, MaxPartitions)
	}
	return nil
}
