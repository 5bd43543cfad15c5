// Package redisstore keeps runs in Redis: one server or a Cluster. Package store contains the transitions of a run,
// in Go. One script, apply, writes the result of a transition, if the stored record is still the record from which it
// was computed, and at the right time. So a write costs one exchange with the server, or two if the record is not
// known. Changes that wait while other exchanges are on their way are written by one run of the script
// (docs/decisions/0010).
//
// # Layout
//
// D is the name of the deployment, p the number of a partition, i a run as namespace/id. All keys of a partition
// carry one hash tag, so that one script can change all of them, also in a Cluster.
//
//	swrun:{D}:layout         string  JSON: deployment, number of partitions, schema; written once
//	swrun:{D}:definitions    hash    key of a definition -> its data
//	swrun:{D:p}:time         string  time of the last write, number of writes, offset, and how often the clock has jumped
//	swrun:{D:p}:leases       string  workers, and the end of the lease of each, in ms
//	swrun:{D:p}:meta         hash    repairs, losses: problems so far; adopted: the last loss that was accepted
//	swrun:{D:p}:new          zset    runs that may be claimed and are not begun, by the time from which
//	swrun:{D:p}:begun        zset    runs that may be claimed before the new ones, by the time from which
//	swrun:{D:p}:waiting      zset    runs that wait for a time, in ms; +inf for never
//	swrun:{D:p}:held         zset    runs that a worker holds, each with its name, by the time when it counts as hanging
//	swrun:{D:p}:closed       zset    runs that are ended, by time in ms
//	swrun:{D:p}:quarantined  set     runs that are quarantined, in any of these sets
//	swrun:{D:p}:unreadable   set     runs that could not be read
//	swrun:{D:p}:retrying     zset    runs of which a task is tried again; 1 for a waiting run, 2 for a run in a worker's hands
//	swrun:{D:p}:listeners    zset    listeners for events: type, expressions, key of their values, and run
//	swrun:{D:p}:needs        zset    needs that runs wait for: need, time from which, and run
//	swrun:{D:p}:notices      set     runs with messages that their workers may not know of
//	swrun:{D:p}:index        stream  every run in the order of creation
//	swrun:{D:p}:outbox       stream  messages and starts for other runs
//	swrun:{D:p}:q:q_n        zset    activities that wait in the queue q, of the namespace n (with a space between), by the time from which they may be taken
//	swrun:{D:p}:queued       zset    "q n" of the queues that are not empty, each with 0
//	swrun:{D:p}:activities   zset    activities that have a deadline, by the first one in ms
//	swrun:{D:p}:seen         zset    ids of the messages and commands of the last day, by time in ms
//	swrun:{D:p}:i:i          hash    k: record, m: number of messages, l: entry of index, s: info, h: head, c: context, f<n>: frame n, a<n>: activity n
//	swrun:{D:p}:h:i          list    history: time, epoch, nonce and data of each entry
//	swrun:{D:p}:n:i          list    inbox
//	swrun:{D:p}:p:i          hash    data that is kept apart, by reference
//	swrun:{D:p}:f:d:i        string  number of runs caused by i that started here on the day d
//	swrun:{D:p}:f:d:i_k      string  number of requests of the kind k of store.Asked (with a space between), in the partition of i
//	swrun:{D:p}:e:k:n        string  the entry n of the kind k of the registry: its version, its end, the call that stored it, and its value
//	swrun:{D:p}:r:k          zset    the entries of the kind k, by the time when they end; not of replies
//	swrun:{D:p}:u:q          zset    holders of permits of the queue q, by the end of the permit in ms; +inf for never
//	swrun:{D:p}:b:q          zset    starts of the queue q within the span of its rate, by time in ms
//	swrun:{D:p}:versions     string  the last version of an entry
//
// A run is in exactly one of new, begun, waiting, held and closed. Its record (store.Lifecycle) determines the set,
// and is authoritative. Only f:d:i, b:q and entries that end have a TTL. store.RegistryKind.Partition returns the
// partition of an entry of the registry. Hints are published on the channel swrun:{D}:hints as "p", "p i" or "p q".
// Nothing is published on swrun:{D}:workers:w: the worker w listens there as long as it runs.
//
// The time of a partition is the time of the server, plus offset, and never goes back: scripts keep the highest time
// that they have seen. If the server's clock goes back by more than a second, or leaps ahead of the time that callers
// expect by more than 30 seconds without a write since, offset compensates for it: no jump makes a deadline pass.
package redisstore
