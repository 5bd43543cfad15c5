//go:build race

package dsl_test

// everyNth makes the comparison with the schema take one mutation out of ten: the race detector makes the schema slow.
const everyNth = 10
