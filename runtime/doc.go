// Package runtime is the tour of the packages that drive workflows. It contains no code, only the tests of its parts
// together. The pure interpreter steps a run. The packages here supply its time, its effects and its storage.
//
//   - local runs one workflow in memory, on real or virtual time, and keeps nothing.
//   - store is the contract of a store of runs: the transitions of their lifecycle, each atomic, and the queries. kvstore
//     implements it over any ordered key-value store; storetest is the test that every store passes.
//   - definition is the deployed form of workflows, and the cache of compiled ones.
//   - function keeps the deployed functions of the default catalog, for documents that are loaded with a store at hand.
//   - execution decides how one run continues in the hands of an owner: which steps, writes, effects and cancels follow, and
//     when. It is pure: drivers report events to it, and carry out its Actions.
//   - inbox is the messages to a run: the results of work by others for it, and commands.
//   - lease decides how a worker treats the runs that it holds: when it renews its leases, how long it relies on them,
//     which runs it gives up, and which runs of others it may take. It is as pure as execution.
//   - worker looks for runs that are ready, claims them, and drives an execution for each with goroutines and real time. It
//     limits the number of effects at a time, and relays messages and starts of children to their partitions.
//     The package simulation drives the same executions and leases in virtual time.
//   - effect performs effects for worker and local alike, and gives up on effects that do not end.
//   - activity decides the changes of the activities that outside workers perform, and matching hands them out. activity is pure.
//   - client starts runs, awaits, commands, lists and describes them. It needs no worker in its process.
package runtime
