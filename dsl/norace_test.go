//go:build !race

package dsl_test

// everyNth makes tests that go through many documents take all of them.
const everyNth = 1
