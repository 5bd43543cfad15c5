// Package simulation runs whole deployments in one goroutine on simulated time: the real interpreter, the real executions
// and leases with all that they decide, and a real store, between which messages are lost, doubled, delayed and reordered, while owners
// of few slots crash, stop and have clocks that run wrong. Worlds with outside workers have servers as well, and activities, whose every change
// is held to a model of its own; in others operators migrate, fork, import and hurry runs and move deadlines meanwhile; and in others events are
// published for runs that listen, by publishers that get lost and publish again. Everything comes from one seed, so that a failure can be repeated:
//
//	go test ./simulation -run TestSeeds -seed 1234 -tell -v
//
// With the build tag planted it also holds itself to account: bugs are planted one by one, in what the store does and in the
// code that decides, and each has to be found.
package simulation
