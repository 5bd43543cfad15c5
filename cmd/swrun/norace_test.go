//go:build !race

package main

// everyNth is the fraction of documents that the tests of secrets take: all of them.
const everyNth = 1
