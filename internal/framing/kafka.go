package framing

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
)

// Kafka follows the answers of a broker of Kafka. The library allocates memory for as many records as a batch announces and has bytes, with about 200
// bytes for each, and for as many elements as an answer announces and has bytes. Therefore an answer with records is read completely before the
// library sees it. Everything else has the limits of the library.
func (g *Guard) Kafka(conn net.Conn) net.Conn {
	return &kafkaConn{Conn: conn, guard: g, fetches: map[uint32]uint16{}}
}

const (
	kafkaFetch = 1
	// kafkaBatch is the maximum number of records of a batch. Producers fill batches of 16 KiB to 1 MiB, and the smallest record has 7 bytes.
	kafkaBatch  = 1 << 18
	kafkaRecord = 7
	// kafkaAsked is the length of the beginning of a request, in bytes: size, key, version and number.
	kafkaAsked = 12
	// kafkaBatchHeader is the length of a batch before its records, in bytes.
	kafkaBatchHeader = 61
)

type kafkaConn struct {
	net.Conn
	guard *Guard

	mu      sync.Mutex
	fetches map[uint32]uint16 // versions of requests for records, by their numbers
	asking  []byte            // the beginning of a request
	unsent  int               // remaining bytes of it

	ready   []byte // was read, and may be returned
	passing int    // bytes of an answer that are not examined; -1 for all further bytes
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

// answer reads the beginning of the next answer, and the whole answer if it has records.
func (c *kafkaConn) answer() error {
	const sizes = 4
	head := make([]byte, 2*sizes)
	if n, err := io.ReadFull(c.Conn, head); err != nil {
		c.ready, c.passing = head[:n], -1
		if n > 0 { // the library reports the fault
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

// The versions that have added a member to an answer.
const (
	kafkaThrottled   = 1
	kafkaStable      = 4 // and aborted transactions
	kafkaStarts      = 5
	kafkaSessions    = 7
	kafkaPreferences = 11
	kafkaFlexible    = 12
	kafkaByID        = 13
)

// refuseRecords returns an error if an answer announces more than it can contain. The library reports other faults.
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

// partition reads the members of a partition in an answer, and returns its batches.
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

// announcesTooMuch reports whether a batch announces more records than the maximum, or than its bytes allow.
func announcesTooMuch(batches []byte) bool {
	const compressed = 7
	for len(batches) >= kafkaBatchHeader {
		size := int64(binary.BigEndian.Uint32(batches[8:])) + 12
		if batches[16] == 2 { // the format since version 0.11; older ones contain no number of records
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
	excess  bool // a list announces more elements than it has room for
}

func (r *kafkaReader) take(n int) []byte {
	n = max(min(n, len(r.rest)), 0)
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *kafkaReader) skip(n int) { r.take(n) }

// since skips members of answers from a version on.
func (r *kafkaReader) since(version, bytes int) {
	if r.version >= version {
		r.skip(bytes)
	}
}

// number reads a number of the given size in bytes.
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

// length reads the length of a member; the newer form counts from 1.
func (r *kafkaReader) length(bytes int) int {
	if r.version >= kafkaFlexible {
		return r.compact() - 1
	}
	return r.number(bytes)
}

// count reads the number of elements of a list, each of at least the given size in bytes.
func (r *kafkaReader) count(least int) int {
	n := max(r.length(4), 0)
	if most := len(r.rest) / least; n > most {
		r.excess = true
		return most
	}
	return n
}

// tags reads optional members.
func (r *kafkaReader) tags() {
	if r.version < kafkaFlexible {
		return
	}
	for range min(r.compact(), len(r.rest)) {
		r.compact()
		r.skip(r.compact())
	}
}
