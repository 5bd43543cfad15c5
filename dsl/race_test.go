//go:build race

package dsl_test

// everyNth makes tests that go through many documents, one after the other, take one of ten: the race detector makes them slow.
const everyNth = 10
