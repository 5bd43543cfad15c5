package redisstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// damagedLayoutError is a deployment whose layout cannot be read, so that nothing of it can be used.
type damagedLayoutError struct {
	key string
	err error
	fix string
}

func (e *damagedLayoutError) Error() string {
	return fmt.Sprintf("the layout of the deployment, in the key %s, is damaged: %s", e.key, e.err)
}

func (e *damagedLayoutError) Unwrap() error { return e.err }

// restoreFix is what to do about a layout that no process knows: nothing is wrong with the server or its address.
func restoreFix(key string) string {
	return fmt.Sprintf("restore the key %s from a backup of the server: the record in it is damaged, and swrun does not change it", key)
}

// writeFix is what to do about a layout, of which the number of partitions is given.
func (s *Store) writeFix(partitions any) string {
	return fmt.Sprintf(`put the key back: redis-cli SET '%s' '{"Deployment":"%s","Partitions":%v,"Schema":%d}'`, s.keys.layout(), s.layout.Deployment, partitions, store.Schema)
}

// readLayout parses the server's answer for the key of a layout. A missing key is redis.Nil.
func readLayout(key string, text []byte, err error) (kept store.Layout, _ error) {
	if isWrongType(err) {
		return kept, &damagedLayoutError{key, err, restoreFix(key)}
	}
	if err != nil {
		return kept, err
	}
	if err = json.Unmarshal(text, &kept); err == nil {
		err = kept.Valid()
	}
	if err != nil {
		return kept, &damagedLayoutError{key, err, restoreFix(key)}
	}
	return kept, nil
}

// storedLayout returns the layout that the server has.
func (s *Store) storedLayout(ctx context.Context) (store.Layout, error) {
	key := s.keys.layout()
	text, err := s.client.Get(ctx, key).Bytes()
	return readLayout(key, text, err)
}

// fix writes the layout of a new deployment, or checks the existing layout. A deployment with data and without a layout is damaged: with
// another number of partitions its runs would not be found.
func (s *Store) fix(ctx context.Context) error {
	kept, err := s.storedLayout(ctx) // first, since a server that is full takes no writes
	if errors.Is(err, redis.Nil) {
		var lost *damagedLayoutError
		if lost, err = s.lostLayout(ctx); err != nil {
			return err
		}
		if kept, err = s.storedLayout(ctx); errors.Is(err, redis.Nil) { // otherwise another process was faster
			if lost != nil {
				return lost
			}
			kept, err = s.writeLayout(ctx)
		}
	}
	if err != nil {
		return err
	}
	return s.layout.Check(kept)
}

// writeLayout writes the layout of a new deployment, unless another process is faster. It returns the layout that is there then.
func (s *Store) writeLayout(ctx context.Context) (store.Layout, error) {
	data, err := json.Marshal(s.layout)
	if err != nil {
		return s.layout, err
	}
	if created, err := s.client.SetNX(ctx, s.keys.layout(), data, 0).Result(); err != nil || created {
		return s.layout, err
	}
	return s.storedLayout(ctx)
}

// lostLayout returns the error of a deployment that holds data and no layout; nil if it holds no data.
func (s *Store) lostLayout(ctx context.Context) (*damagedLayoutError, error) {
	of := newKeys(store.Layout{Deployment: s.layout.Deployment, Partitions: store.MaxPartitions})
	holding := make([]*redis.IntCmd, len(of.partitions))
	var definitions *redis.IntCmd
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		definitions = p.Exists(ctx, of.definitions())
		for n := range of.partitions {
			k := &of.partitions[n]
			holding[n] = p.Exists(ctx, k.time, k.index, k.meta, k.versions())
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for data of the deployment: %w", err)
	}
	var used []int
	for n, c := range holding {
		if c.Val() > 0 {
			used = append(used, n)
		}
	}
	if len(used) == 0 && definitions.Val() == 0 {
		return nil, nil
	}
	fix, err := s.fixLost(ctx, of, used)
	return &damagedLayoutError{of.layout(), errLostLayout, fix}, err
}

var errLostLayout = errors.New("the key is missing, and the deployment holds data")

// fixLost is what to do about a deployment without a layout, in which some partitions are used, in ascending order.
func (s *Store) fixLost(ctx context.Context, of keys, used []int) (string, error) {
	standing, err := s.standingRuns(ctx, of, used)
	if err != nil {
		return "", err
	}
	least, fitting := 1, []int(nil)
	if len(used) > 0 {
		least = used[len(used)-1] + 1
	}
	for n := least; n <= store.MaxPartitions; n++ {
		if standIn(standing, n) {
			fitting = append(fitting, n)
		}
	}
	switch {
	case len(fitting) == 1:
		return s.writeFix(fitting[0]) + " (its runs stand where this number of partitions puts them)", nil
	case slices.Contains(fitting, store.DefaultPartitions):
		return fmt.Sprintf("%s, where N is the number of partitions of the deployment: %d, unless the --store that made it named another", s.writeFix("N"), store.DefaultPartitions), nil
	}
	return s.writeFix("N") + ", where N is the number of partitions that the --store named that made the deployment", nil
}

// standingRuns returns some runs of each of some partitions.
func (s *Store) standingRuns(ctx context.Context, of keys, used []int) (map[int][]store.Instance, error) {
	const some = 20
	read := make([]*redis.XMessageSliceCmd, len(used))
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for n, partition := range used {
			read[n] = p.XRevRangeN(ctx, of.partitions[partition].index, "+", "-", some)
		}
		return nil
	})
	if err != nil && !isWrongType(err) {
		return nil, fmt.Errorf("look for runs of the deployment: %w", err)
	}
	standing := map[int][]store.Instance{}
	for n, partition := range used {
		for _, m := range read[n].Val() {
			if i := indexed(m); i != (store.Instance{}) {
				standing[partition] = append(standing[partition], i)
			}
		}
	}
	return standing, nil
}

// standIn reports whether runs are where a number of partitions puts them.
func standIn(standing map[int][]store.Instance, partitions int) bool {
	for partition, all := range standing {
		for _, i := range all {
			if i.Partition(partitions) != partition {
				return false
			}
		}
	}
	return true
}

// layoutAilment returns the ailment of the layout of a deployment that this process works on. This process knows the layout; other
// processes cannot find the deployment.
func (s *Store) layoutAilment(ctx context.Context) (a store.Ailment, damaged bool) {
	key := s.keys.layout()
	kept, err := s.storedLayout(ctx)
	if errors.Is(err, redis.Nil) && s.isEmptied(ctx) {
		kept, err = s.writeLayout(ctx)
	}
	switch layout := new(damagedLayoutError); {
	case errors.Is(err, redis.Nil):
		err = &damagedLayoutError{key: key, err: errLostLayout}
	case err == nil:
		if err = s.layout.Check(kept); err == nil {
			return a, false
		}
		err = &damagedLayoutError{key: key, err: err}
	case !errors.As(err, &layout):
		return a, false // Examine reports why there is no answer
	}
	return store.Ailment{Reason: store.Damaged, Minor: true, Partial: true, What: err.Error() + "; no other process can open the store", Fix: s.writeFix(s.layout.Partitions)}, true
}

// isEmptied reports whether the definitions are missing with the layout, as after a restart of a server that saves nothing: the deployment is a new one.
func (s *Store) isEmptied(ctx context.Context) bool {
	n, err := s.client.Exists(ctx, s.keys.definitions()).Result()
	return err == nil && n == 0
}
