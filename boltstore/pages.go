package boltstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"

	"github.com/swrun/swrun/errors"
)

// This file checks the pages of a file before bbolt reads them. bbolt maps the file and trusts it: damage ends the process, possibly in a
// goroutine of bbolt itself that other code cannot guard. So all structures that bbolt follows are checked here first: pages, their
// references, and the order of keys. The readers of the values check the values.

// The form of a bbolt file. Numbers have the machine's order of bytes.
const (
	headerSize    = 16 // of a page: id, flags, count, overflow
	elementSize   = 16 // of an element of a page
	bucketHeader  = 16 // of a bucket's value: root page, sequence
	metaSize      = 64
	metaMagic     = 0xED0CDAED
	metaVersion   = 2
	branchPage    = 0x01
	leafPage      = 0x02
	freelistPage  = 0x10
	bucketElement = 0x01
	noFreelist    = 1<<64 - 1 // the file has no freelist: it is rebuilt from the pages in use
)

var order = binary.NativeEndian

// meta is the header of a bbolt file.
type meta struct {
	pageSize             int64
	root, freelist, high uint64 // pages; high is the first that is not in use
	txid                 uint64
}

// parseMeta reads one of the two metas of a file; ok is false if it is not whole.
func parseMeta(b []byte) (m meta, ok bool) {
	sum := fnv.New64a()
	sum.Write(b[:metaSize-8]) // never fails
	if order.Uint32(b) != metaMagic || order.Uint32(b[4:]) != metaVersion || order.Uint64(b[56:]) != sum.Sum64() {
		return m, false
	}
	return meta{
		pageSize: int64(order.Uint32(b[8:])), root: order.Uint64(b[16:]),
		freelist: order.Uint64(b[32:]), high: order.Uint64(b[40:]), txid: order.Uint64(b[48:]),
	}, true
}

// pages checks the pages of a file.
type pages struct {
	file io.ReaderAt
	meta
	used []bool // the reached pages, by number
}

// checkPages returns an error for damage in a file of a size with pages of pageSize.
func checkPages(file io.ReaderAt, size, pageSize int64) error {
	c := &pages{file: file}
	for n := range int64(2) {
		b := make([]byte, metaSize)
		if _, err := file.ReadAt(b, n*pageSize+headerSize); err != nil {
			return errors.New("it is cut short")
		}
		if m, ok := parseMeta(b); ok && m.pageSize == pageSize && m.txid >= c.txid {
			c.meta = m
		}
	}
	switch {
	case c.pageSize == 0:
		return errors.New("its header cannot be read")
	case int64(c.high) < 0 || int64(c.high) > size/pageSize:
		return fmt.Errorf("it is cut short: %d bytes of %d are there", size, int64(c.high)*pageSize)
	}
	c.used = make([]bool, c.high)
	if c.freelist != noFreelist {
		if err := c.free(); err != nil {
			return err
		}
	}
	return c.tree(c.root, bounds{}, c.bucket)
}

// damaged returns the error of a damaged page.
func damaged(page uint64, what string) error {
	return fmt.Errorf("page %d %s", page, what)
}

// use notes that a page is used, which it may be once.
func (c *pages) use(page uint64) error {
	switch {
	case page < 2 || page >= c.high:
		return damaged(page, "is none of its pages")
	case c.used[page]:
		return damaged(page, "is used twice")
	}
	c.used[page] = true
	return nil
}

// read returns a page with its overflow pages.
func (c *pages) read(page uint64) ([]byte, error) {
	if err := c.use(page); err != nil {
		return nil, err
	}
	header := make([]byte, headerSize)
	if _, err := c.file.ReadAt(header, int64(page)*c.pageSize); err != nil {
		return nil, damaged(page, "cannot be read: "+err.Error())
	}
	more := uint64(order.Uint32(header[12:]))
	if order.Uint64(header) != page || more >= c.high-page {
		return nil, damaged(page, "does not contain its kind")
	}
	for n := range more {
		if err := c.use(page + 1 + n); err != nil {
			return nil, err
		}
	}
	b := make([]byte, int64(more+1)*c.pageSize)
	if _, err := c.file.ReadAt(b, int64(page)*c.pageSize); err != nil {
		return nil, damaged(page, "cannot be read: "+err.Error())
	}
	return b, nil
}

// free checks the list of pages that are not in use, which must not be.
func (c *pages) free() error {
	b, err := c.read(c.freelist)
	if err != nil {
		return err
	}
	count, ids := uint64(order.Uint16(b[10:])), b[headerSize:]
	if count == 0xFFFF {
		count, ids = order.Uint64(ids), ids[8:]
	}
	if order.Uint16(b[8:]) != freelistPage || count > uint64(len(ids))/8 {
		return damaged(c.freelist, "is not a list of free pages")
	}
	for n := range count {
		if err := c.use(order.Uint64(ids[8*n:])); err != nil {
			return err
		}
	}
	return nil
}

// bounds are the bounds of the keys of a page: from least on, and below most. Nil is no bound.
type bounds struct{ least, most []byte }

// leaf checks an element of a leaf page.
type leaf func(page uint64, e element) error

// element is an entry of a page.
type element struct {
	key, value []byte
	child      uint64 // of a branch
	flags      uint32 // of a leaf
}

// tree checks a tree of pages.
func (c *pages) tree(page uint64, within bounds, each leaf) error {
	b, err := c.read(page)
	if err != nil {
		return err
	}
	all, err := elements(page, b, within)
	if err != nil {
		return err
	}
	branch := order.Uint16(b[8:]) == branchPage
	if branch && len(all) == 0 {
		return damaged(page, "leads nowhere")
	}
	for n, e := range all {
		if !branch {
			if err := each(page, e); err != nil {
				return err
			}
			continue
		}
		below := bounds{e.key, within.most}
		if n+1 < len(all) {
			below.most = all[n+1].key
		}
		if err := c.tree(e.child, below, each); err != nil {
			return err
		}
	}
	return nil
}

// elements returns the elements of a page, whose keys must be in order.
func elements(page uint64, b []byte, within bounds) ([]element, error) {
	kind, count := order.Uint16(b[8:]), int(order.Uint16(b[10:]))
	if kind != branchPage && kind != leafPage {
		return nil, damaged(page, "is of no kind")
	}
	if headerSize+count*elementSize > len(b) {
		return nil, damaged(page, "lists more than it holds")
	}
	all := make([]element, 0, count)
	before := within.least
	for n := range count {
		e, ok := readElement(kind, b[headerSize+n*elementSize:])
		if !ok {
			return nil, damaged(page, "lists an element outside of it")
		}
		ordered := bytes.Compare(before, e.key)
		if ordered > 0 || ordered == 0 && n > 0 || len(e.key) == 0 || within.most != nil && bytes.Compare(e.key, within.most) >= 0 {
			return nil, damaged(page, "has its keys in disorder")
		}
		before = e.key
		all = append(all, e)
	}
	return all, nil
}

// readElement reads an element, which is at the beginning of b and points into it.
func readElement(kind uint16, b []byte) (e element, ok bool) {
	at, keySize, valueSize := uint64(order.Uint32(b[4:])), uint64(order.Uint32(b[8:])), uint64(order.Uint32(b[12:]))
	if kind == branchPage {
		at, keySize, valueSize = uint64(order.Uint32(b)), uint64(order.Uint32(b[4:])), 0
		e.child = order.Uint64(b[8:])
	} else {
		e.flags = order.Uint32(b)
	}
	if at < elementSize || at+keySize+valueSize > uint64(len(b)) {
		return e, false
	}
	e.key, e.value = b[at:at+keySize], b[at+keySize:at+keySize+valueSize]
	return e, true
}

// bucket checks an element of the file's root: the one bucket of a store.
func (c *pages) bucket(page uint64, e element) error {
	if e.flags != bucketElement || !bytes.Equal(e.key, bucket()) {
		return damaged(page, "is not one of a store")
	}
	if len(e.value) < bucketHeader {
		return damaged(page, "has a bucket without a beginning")
	}
	root, inline := order.Uint64(e.value), e.value[bucketHeader:]
	if root != 0 {
		return c.tree(root, bounds{}, entry)
	}
	if len(inline) < headerSize || order.Uint16(inline[8:]) != leafPage || order.Uint64(inline) != 0 {
		return damaged(page, "has a bucket that cannot be read")
	}
	all, err := elements(page, inline, bounds{})
	for _, e := range all {
		err = errors.Join(err, entry(page, e))
	}
	return err
}

// entry checks a key and its value.
func entry(page uint64, e element) error {
	if e.flags != 0 {
		return damaged(page, "has an invalid entry")
	}
	return nil
}
