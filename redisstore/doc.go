// Package redisstore keeps instances in Redis: one server, Sentinel or Cluster. Each transition of the Store contract
// is one script in scripts/, and one method here; commits, of which there are the most, have two: see
// docs/decisions/0010.
//
// # Layout
//
// D is the name of the deployment, p the number of a partition, i an instance as namespace/id. All keys of a partition
// carry one hash tag, so that a script can change all of them at once, also in a Cluster.
//
//	swrun:{D}:layout         string  JSON: deployment, number of partitions, schema; written once
//	swrun:{D}:definitions    hash    key of a definition -> its data
//	swrun:{D:p}:time         string  time of the last write, number of writes, offset, and how often the clock has jumped
//	swrun:{D:p}:meta         hash    last: newest instance; repairs, losses: what went wrong so far; adopted: the last
//	                                 loss that was accepted
//	swrun:{D:p}:ready        zset    instances that may be claimed, by urgency
//	swrun:{D:p}:due          zset    instances that somebody has to look at later, by time in ms; +inf for never
//	swrun:{D:p}:closed       zset    instances that have ended, by time in ms
//	swrun:{D:p}:index        stream  every instance in the order of creation; the id is its slot
//	swrun:{D:p}:outbox       stream  what has to be brought to other instances
//	swrun:{D:p}:seen         zset    ids of the messages and commands of the last day, by time in ms
//	swrun:{D:p}:i:i          hash    k: record, s: info, h: head, c: context, f<n>: frame n
//	swrun:{D:p}:h:i          list    history: time, epoch, nonce and data of each entry
//	swrun:{D:p}:n:i          list    inbox
//	swrun:{D:p}:p:i          hash    data that is kept apart, by reference
//	swrun:{D:p}:f:i          hash    n: how many instances i has led to, since: when the first of them started; for a day
//
// A live instance stands in exactly one of ready and due, a closed one in closed; which one follows from its record,
// which is the truth (store.Lifecycle). Nothing but f:i has a TTL. Hints are published on the channel swrun:{D}:hints as
// "p" or "p i". Nothing is published on swrun:{D}:workers: who listens there is a worker.
//
// The time of a partition is that of the server, plus offset, and never goes back: scripts keep the highest one that
// they have seen. If the server's clock falls behind by more than a second, or leaps ahead of what callers
// expect by more than 30, while nobody has written since, offset makes up for it: no jump makes a deadline pass.
package redisstore
