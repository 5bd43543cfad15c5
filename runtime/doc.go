// Package runtime is the tour of what drives workflows: it holds no code, and the tests of its parts together. The pure
// interpreter steps a run; the packages here give it time, effects and a place to be kept.
//
//   - local runs one workflow in memory, on real or virtual time, and keeps nothing.
//   - store is the contract of what keeps runs: transitions of their lifecycle, each atomic, and what can be asked. kvstore
//     implements it over any ordered key-value store; storetest is the test that every store passes.
//   - definition is what workflows are deployed as, and the cache of what is compiled.
//   - function keeps the functions of the default catalog that are deployed, for documents that are loaded with a store at hand.
//   - execution decides how one run goes on in the hands of an owner: what is stepped, stored, performed and cancelled, and
//     when. It is pure: drivers report to it what has happened, and do what its Actions say.
//   - inbox is the messages that come to a run: the ends of what others did for it, and commands.
//   - lease decides what a worker does about the runs that it holds: when it renews its leases, how long it relies on them,
//     which runs it gives up, and whose it may take. It is as pure as execution.
//   - worker looks for runs that are ready, claims them, and drives an execution for each with goroutines and real time. It
//     bounds what is performed at a time, and brings messages and starts of children to where they belong.
//     The package simulation drives the same executions and leases in virtual time.
//   - effect performs effects for worker and local alike, and gives up on what does not end.
//   - activity decides what becomes of the activities that outside workers perform, and matching hands them out. activity is pure.
//   - client starts runs, awaits, commands, lists and describes them. It needs no worker in its process.
package runtime
