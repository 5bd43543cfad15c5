//go:build !race

package dsl_test

// everyNth is the fraction of documents that tests of many documents take: all of them.
const everyNth = 1
