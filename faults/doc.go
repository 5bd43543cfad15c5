// Package faults tests that workers keep their promises while everything around them fails: real processes are killed and stopped, the connection to
// a real Redis is cut, and replies are lost (docs/engine.md). Each test proves that its fault happened, and then checks every run, every request that
// reached the outside, and Redis.
//
// The tests take seconds; with -long they take minutes and cause more faults.
package faults
