package control

import (
	"context"
	"strconv"
	"strings"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/store"
)

// HistoryPage is a part of a run's history.
type HistoryPage struct {
	api.History
	Next string // cursor of the next page; empty at the end
}

// errEnough ends the reading of a history before its end.
var errEnough = errors.New("enough has been read")

// position is where a page begins: an entry of the history, and how many of its records were given before.
type position struct{ entry, record int }

func (p position) String() string { return strconv.Itoa(p.entry) + "." + strconv.Itoa(p.record) }

func parsePosition(cursor string) (p position, err error) {
	if cursor == "" {
		return p, nil
	}
	entry, record, _ := strings.Cut(cursor, ".")
	p.entry, err = strconv.Atoi(entry)
	if err == nil {
		p.record, err = strconv.Atoi(record)
	}
	if err != nil || p.entry < 0 || p.record < 0 || p.String() != cursor {
		return p, &client.OptionError{Field: "cursor", Detail: "is none that a page of this history has ended with"}
	}
	return p, nil
}

// History returns at most limit records of a run's history, from a cursor on.
func (c *Control) History(ctx context.Context, i store.Instance, cursor string, limit int) (HistoryPage, error) {
	from, err := parsePosition(cursor)
	if err != nil {
		return HistoryPage{}, err
	}
	if _, err := c.store.Load(ctx, i); err != nil { // of a run that is not there, nothing is stored
		return HistoryPage{}, err
	}
	page := HistoryPage{History: api.History{Schema: api.SchemaHistory, Run: i.String(), Records: []api.HistoryEvent{}}}
	at := from
	_, err = c.client.History(ctx, i, from.entry, func(e client.HistoryEntry) error {
		for ; at.record < len(e.Events); at.record++ {
			if len(page.Records) == limit {
				page.Next = at.String()
				return errEnough
			}
			page.Records = append(page.Records, api.NewHistoryEvent(e.Events[at.record], e))
		}
		at = position{at.entry + 1, 0}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return page, err
}
