// Package faults holds workers to their promises while everything around them fails: real processes are killed and
// stopped, the connection to a real Redis is cut, and replies are lost (docs/engine.md). Each test proves that its
// fault has happened, and then looks at every run, at every request that reached the outside, and at Redis.
//
// The tests take seconds; with -long they take minutes and hurt more.
package faults
