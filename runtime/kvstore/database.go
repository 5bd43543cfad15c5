// Package kvstore is the Store contract over any ordered key-value database with transactions: its transitions in
// plain Go, to be read beside the scripts of redisstore. Package memstore keeps it in memory, boltstore in a file.
package kvstore

// Database is the interface of a database for kvstore. Writing transactions are serialized.
type Database interface {
	// View runs f on an unchanging snapshot of the database.
	View(f func(Tx) error) error
	// Update runs f exclusively. Its writes are durable when Update returns nil; f may run more than once.
	Update(f func(Tx) error) error
}

// Tx is one transaction. Keys and values that it returns must not be changed or kept.
type Tx interface {
	Get(key string) (value []byte, ok bool)
	Put(key string, value []byte)
	Delete(key string)
	// Scan calls f for the keys with a prefix, in order, beginning with the first key that is not below from, until f returns false. It
	// ignores writes by f.
	Scan(prefix, from string, f func(key string, value []byte) bool)
	// ScanBack is Scan in the opposite order, beginning with the last key that is below to.
	ScanBack(prefix, to string, f func(key string, value []byte) bool)
}
