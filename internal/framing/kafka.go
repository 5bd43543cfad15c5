package framing

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
)

// Kafka follows what a broker of Kafka answers. Its library makes room for as many records as a batch announces and has bytes, of about 200 bytes of
// memory each, and for as many elements as an answer announces and has bytes. An answer with records is therefore read as a whole before the library
// sees it. Everything else has the limits of the library.
func (g *Guard) Kafka(conn net.Conn) net.Conn {
	return &kafkaConn{Conn: conn, guard: g, fetches: map[uint32]uint16{}}
}

const (
	kafkaFetch = 1
	// kafkaBatch is how many records a batch may have. Producers fill batches of 16 KiB to 1 MiB, and the smallest record has 7 bytes.
	kafkaBatch  = 1 << 18
	kafkaRecord = 7
	// kafkaAsked is how long the beginning of a request is: size, key, version and number.
	kafkaAsked = 12
	// kafkaBatchHeader is how long the beginning of a batch is, up to its records.
	kafkaBatchHeader = 61
)

type kafkaConn struct {
	net.Conn
	guard *Guard

	mu      sync.Mutex
	fetches map[uint32]uint16 // versions of requests for records, by their numbers
	asking  []byte            // the beginning of a request
	unsent  int               // bytes of it that come

	ready   []byte // has been read, and may be seen
	passing int    // bytes of an answer that are not looked at; -1 for all that come
}

// Write implements net.Conn.
func (c *kafkaConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.asks(p)
	c.mu.Unlock()
	return c.Conn.Write(p)
}

// asks follows requests.
func (c *kafkaConn) asks(p []byte) {
	for len(p) > 0 {
		if skipped := min(c.unsent, len(p)); skipped > 0 {
			c.unsent, p = c.unsent-skipped, p[skipped:]
			continue
		}
		taken := min(kafkaAsked-len(c.asking), len(p))
		if c.asking, p = append(c.asking, p[:taken]...), p[taken:]; len(c.asking) < kafkaAsked {
			return
		}
		if binary.BigEndian.Uint16(c.asking[4:]) == kafkaFetch {
			c.fetches[binary.BigEndian.Uint32(c.asking[8:])] = binary.BigEndian.Uint16(c.asking[6:])
		}
		c.unsent, c.asking = int(binary.BigEndian.Uint32(c.asking))-(kafkaAsked-4), c.asking[:0]
	}
}

// Read implements net.Conn.
func (c *kafkaConn) Read(p []byte) (int, error) {
	if len(c.ready) == 0 && c.passing == 0 {
		if err := c.answer(); err != nil {
			return 0, err
		}
	}
	if len(c.ready) > 0 {
		n := copy(p, c.ready)
		c.ready = c.ready[n:]
		return n, nil
	}
	if c.passing > 0 {
		p = p[:min(len(p), c.passing)]
	}
	n, err := c.Conn.Read(p)
	if c.passing > 0 {
		c.passing -= n
	}
	return n, err
}

// answer reads the beginning of the next answer, and all of it if it has records.
func (c *kafkaConn) answer() error {
	const sizes = 4
	head := make([]byte, 2*sizes)
	if n, err := io.ReadFull(c.Conn, head); err != nil {
		c.ready, c.passing = head[:n], -1
		if n > 0 { // the library says what is wrong
			return nil
		}
		return err
	}
	c.ready = head
	size, number := int64(binary.BigEndian.Uint32(head)), binary.BigEndian.Uint32(head[sizes:])
	if size < sizes || size > int64(c.guard.Most) { // the library refuses it
		c.passing = -1
		return nil
	}
	c.mu.Lock()
	version, isFetch := c.fetches[number]
	delete(c.fetches, number)
	c.mu.Unlock()
	if !isFetch {
		c.passing = int(size) - sizes
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(c.Conn, size-sizes))
	if err != nil || len(body) < int(size)-sizes {
		c.ready, c.passing = append(head, body...), -1
		return nil
	}
	if err := refuseRecords(int(version), body); err != nil {
		c.guard.Refuse(err)
		return err
	}
	c.ready = append(head, body...)
	return nil
}

// The versions since when an answer has something.
const (
	kafkaThrottled   = 1
	kafkaStable      = 4 // and transactions that were aborted
	kafkaStarts      = 5
	kafkaSessions    = 7
	kafkaPreferences = 11
	kafkaFlexible    = 12
	kafkaByID        = 13
)

// refuseRecords returns an error if an answer announces more than it can have. What is broken otherwise, the library says.
func refuseRecords(version int, body []byte) error {
	r := &kafkaReader{rest: body, version: version}
	r.tags()
	r.since(kafkaThrottled, 4)
	r.since(kafkaSessions, 6)
	for range r.count(4) {
		if version >= kafkaByID {
			r.skip(16)
		} else {
			r.skip(r.length(2))
		}
		for range r.count(14) {
			if announcesTooMuch(r.partition()) {
				return ErrTooLarge
			}
		}
		r.tags()
	}
	if r.excess {
		return ErrTooLarge
	}
	return nil
}

// partition reads what an answer says of a partition, and returns its batches.
func (r *kafkaReader) partition() (batches []byte) {
	r.skip(14)
	r.since(kafkaStable, 8)
	r.since(kafkaStarts, 8)
	if r.version >= kafkaStable {
		for range r.count(16) {
			r.skip(16)
			r.tags()
		}
	}
	r.since(kafkaPreferences, 4)
	batches = r.take(r.length(4))
	r.tags()
	return batches
}

// announcesTooMuch reports whether a batch announces more records than a batch may have, or than its bytes can be.
func announcesTooMuch(batches []byte) bool {
	const compressed = 7
	for len(batches) >= kafkaBatchHeader {
		size := int64(binary.BigEndian.Uint32(batches[8:])) + 12
		if batches[16] == 2 { // the format since version 0.11; the older ones have no number of records
			announced, bytes := int64(int32(binary.BigEndian.Uint32(batches[57:]))), min(size, int64(len(batches)))-kafkaBatchHeader
			plain := batches[22]&compressed == 0
			if announced > kafkaBatch || plain && announced > max(bytes, 0)/kafkaRecord {
				return true
			}
		}
		if size > int64(len(batches)) {
			return false // the rest was cut off, which brokers may do
		}
		batches = batches[size:]
	}
	return false
}

// kafkaReader reads the members of an answer.
type kafkaReader struct {
	rest    []byte
	version int
	excess  bool // a list announces more elements than there is room for
}

func (r *kafkaReader) take(n int) []byte {
	n = max(min(n, len(r.rest)), 0)
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *kafkaReader) skip(n int) { r.take(n) }

// since skips what answers of a version and later have.
func (r *kafkaReader) since(version, bytes int) {
	if r.version >= version {
		r.skip(bytes)
	}
}

// number reads a number of so many bytes.
func (r *kafkaReader) number(bytes int) int {
	taken := r.take(bytes)
	if len(taken) < bytes {
		return 0
	}
	if bytes == 2 {
		return int(int16(binary.BigEndian.Uint16(taken)))
	}
	return int(int32(binary.BigEndian.Uint32(taken)))
}

// compact reads a number of the newer form.
func (r *kafkaReader) compact() int {
	value, n := binary.Uvarint(r.rest)
	r.skip(max(n, 0))
	return int(min(value, 1<<31))
}

// length reads how long something is; the newer form counts from 1.
func (r *kafkaReader) length(bytes int) int {
	if r.version >= kafkaFlexible {
		return r.compact() - 1
	}
	return r.number(bytes)
}

// count reads how many elements a list has, each of at least so many bytes.
func (r *kafkaReader) count(least int) int {
	n := max(r.length(4), 0)
	if most := len(r.rest) / least; n > most {
		r.excess = true
		return most
	}
	return n
}

// tags reads members that only some know.
func (r *kafkaReader) tags() {
	if r.version < kafkaFlexible {
		return
	}
	for range min(r.compact(), len(r.rest)) {
		r.compact()
		r.skip(r.compact())
	}
}
