// Package simulation runs whole deployments in one goroutine on simulated time: the real interpreter, the real executions and leases with
// all their decisions, and a real store. Messages between them are lost, doubled, delayed and reordered, while owners with few slots crash,
// stop and have wrong clocks. Worlds with outside workers also have servers, and activities, whose every change is compared with a model of
// its own. In other worlds operators migrate, fork, import and hurry runs and move deadlines during the run. In other worlds events are
// published for runs that listen, by publishers that get lost and publish again. Everything comes from one seed, so that a failure can be
// repeated:
//
//	go test ./simulation -run TestSeeds -seed 1234 -tell -v
//
// With the build tag planted it also checks itself: bugs are planted one by one, in the store and in the code that decides, and each has to
// be found.
package simulation
