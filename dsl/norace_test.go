//go:build !race

package dsl_test

// everyNth makes the comparison with the schema take all mutations.
const everyNth = 1
