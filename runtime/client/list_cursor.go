package client

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"time"

	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/runtime/store"
)

// This file encodes and decodes the position of a list.

// CursorError is a cursor that no page of the list has returned.
type CursorError struct{ Cursor string }

func (e *CursorError) Error() string {
	return fmt.Sprintf("%s is not the cursor of a list: use the cursor of the previous page", shorten.Quoted(e.Cursor))
}

// position is the position of a run among the runs of all partitions; zero for none.
type position struct {
	created   time.Time
	partition int
}

// compare returns below 0 if a comes first.
func (p position) compare(other position) int {
	return cmp.Or(other.created.Compare(p.created), cmp.Compare(p.partition, other.partition))
}

// storedProgress is a cursor before it is packed.
type storedProgress struct {
	Created   int64          `json:"t"`
	Partition int            `json:"p"`
	After     map[int]string `json:"a"`
}

// before returns the cursor that begins at the last returned run.
func (m *merge) before() (string, error) {
	after := maps.Clone(m.at.after)
	maps.Copy(after, m.prior.after)
	maps.DeleteFunc(after, func(_ int, cursor string) bool { return cursor == "" })
	data, err := json.Marshal(storedProgress{store.Millis(m.prior.last.created), m.prior.last.partition, after})
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	return base64.RawURLEncoding.EncodeToString(packed.Bytes()), err
}

// The bounds of a cursor: it comes from outside.
const maxCursor, maxUnpackedCursor = 64 << 10, 1 << 20

// readCursor parses the output of before; an empty cursor is the beginning.
func readCursor(cursor string, partitions int) (progress, error) {
	beginning := progress{after: map[int]string{}}
	if cursor == "" {
		return beginning, nil
	}
	wrong := &CursorError{cursor}
	packed, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(cursor) > maxCursor {
		return beginning, wrong
	}
	data, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxUnpackedCursor))
	var read storedProgress
	if err != nil || json.Unmarshal(data, &read) != nil || read.Created <= 0 || len(read.After) == 0 {
		return beginning, wrong
	}
	for p, after := range read.After {
		if p < 0 || p >= partitions || after == "" {
			return beginning, wrong
		}
	}
	return progress{position{store.Moment(read.Created), read.Partition}, read.After}, nil
}
