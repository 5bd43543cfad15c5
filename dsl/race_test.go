//go:build race

package dsl_test

// everyNth is the fraction of documents that tests of many documents take: one of ten, because the race detector makes them slow.
const everyNth = 10
