// Package redisstore keeps runs in Redis: one server or a Cluster. The transitions of a run are those of package
// store, in Go; what they come to is written by one script, apply, if the run is still what it was made of, and at the right
// time. So a write costs one exchange with the server, or two if nothing is known of the run. What waits while other
// exchanges are on their way is written by the same run of the script (docs/decisions/0010).
//
// # Layout
//
// D is the name of the deployment, p the number of a partition, i a run as namespace/id. All keys of a partition
// carry one hash tag, so that a script can change all of them at once, also in a Cluster.
//
//	swrun:{D}:layout         string  JSON: deployment, number of partitions, schema; written once
//	swrun:{D}:definitions    hash    key of a definition -> its data
//	swrun:{D:p}:time         string  time of the last write, number of writes, offset, and how often the clock has jumped
//	swrun:{D:p}:leases       string  workers, and until when the lease of each lasts, in ms
//	swrun:{D:p}:meta         hash    repairs, losses: what went wrong so far; adopted: the last loss that was accepted
//	swrun:{D:p}:new          zset    runs that may be claimed and have not begun, by the time since when
//	swrun:{D:p}:begun        zset    runs that may be claimed before those, by the time since when
//	swrun:{D:p}:waiting      zset    runs that wait for a time, in ms; +inf for never
//	swrun:{D:p}:held         zset    runs that a worker holds, each with its name, by the time when it counts as hanging
//	swrun:{D:p}:closed       zset    runs that have ended, by time in ms
//	swrun:{D:p}:quarantined  set     runs that are quarantined, wherever they stand
//	swrun:{D:p}:unreadable   set     runs that could not be read
//	swrun:{D:p}:retrying     zset    runs of which a task is tried again; 1 for one that waits for that, 2 for one in a worker's hands
//	swrun:{D:p}:listeners    zset    who listens for which events: type, expressions, key of their values, and run
//	swrun:{D:p}:needs        zset    what runs wait for that somebody needs to go on with them: need, since when, and run
//	swrun:{D:p}:notices      set     runs with messages that their workers may not know of
//	swrun:{D:p}:index        stream  every run in the order of creation
//	swrun:{D:p}:outbox       stream  what has to be brought to other runs
//	swrun:{D:p}:q:q_n        zset    activities that wait in the queue q, of the namespace n (with a space between), by the time from when on they may be taken
//	swrun:{D:p}:queued       zset    "q n" of those that are not empty, each with 0
//	swrun:{D:p}:activities   zset    activities that have a deadline, by the first one in ms
//	swrun:{D:p}:seen         zset    ids of the messages and commands of the last day, by time in ms
//	swrun:{D:p}:i:i          hash    k: record, m: number of messages, l: entry of index, s: info, h: head, c: context, f<n>: frame n, a<n>: activity n
//	swrun:{D:p}:h:i          list    history: time, epoch, nonce and data of each entry
//	swrun:{D:p}:n:i          list    inbox
//	swrun:{D:p}:p:i          hash    data that is kept apart, by reference
//	swrun:{D:p}:f:d:i        string  how many runs that i has led to have started here on the day d
//	swrun:{D:p}:f:d:i_k      string  how many were asked for, of the kind k of store.Asked (with a space between), in the partition of i
//	swrun:{D:p}:e:k:n        string  the entry n of the kind k of the registry: its version, its end, the call that stored it, and its value
//	swrun:{D:p}:r:k          zset    the entries of the kind k, by the time when they end; not of replies
//	swrun:{D:p}:u:q          zset    who holds permits of the queue q, by the time when they end in ms; +inf for never
//	swrun:{D:p}:b:q          zset    what has begun of the queue q within the span of its rate, by time in ms
//	swrun:{D:p}:versions     string  the last version of an entry
//
// A run stands in exactly one of new, begun, waiting, held and closed; which one follows from its record, which is the
// truth (store.Lifecycle). Nothing but f:d:i, b:q and entries that end has a TTL. The registry stands in the partitions that
// store.RegistryKind.Partition says. Hints are published on the channel swrun:{D}:hints as
// "p", "p i" or "p q". Nothing is published on swrun:{D}:workers:w: the worker w listens there as long as it is there.
//
// The time of a partition is that of the server, plus offset, and never goes back: scripts keep the highest one that
// they have seen. If the server's clock goes back by more than a second, or leaps ahead of what callers
// expect by more than 30, while nobody has written since, offset makes up for it: no jump makes a deadline pass.
package redisstore
