//go:build !race

package main

// everyNth makes the tests of secrets take all documents.
const everyNth = 1
