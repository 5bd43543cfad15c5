package store

import (
	"fmt"

	"github.com/swrun/swrun/errors"
)

// MaxPartitions is the most partitions that a deployment can have.
const MaxPartitions = 4096

// Valid returns an error if the layout is invalid for a deployment, for example because of the memory that is reserved for each partition.
// Beyond its schema, only a layout of this version is checked.
func (l Layout) Valid() error {
	switch {
	case l.Schema < 1:
		return errors.New("it does not contain the schema")
	case l.Schema <= Schema && (l.Partitions < 1 || l.Partitions > MaxPartitions):
		return fmt.Errorf("it has %d partitions, and a deployment has from 1 to %d", l.Partitions, MaxPartitions)
	}
	return nil
}
