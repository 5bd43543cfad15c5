package control

import (
	"context"
	"strconv"
	"strings"
	"time"

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
		return p, &client.OptionError{Field: "cursor", Detail: "must be one that a page of this history has returned"}
	}
	return p, nil
}

// HistoryQuery asks for a part of a run's history.
type HistoryQuery struct {
	Cursor string        // where it begins: Next or Later of the page before; empty for the beginning
	Limit  int           // how many records at most
	Wait   time.Duration // how long a record is waited for, if there is none
}

// How long new history may go unnoticed: at first, and later.
const (
	followAtOnce = 2 * time.Millisecond
	followLater  = 100 * time.Millisecond
)

// History returns a page of a run's history. For a run that is quarantined nothing is waited for: a *client.QuarantinedError.
func (c *Control) History(ctx context.Context, i store.Instance, q HistoryQuery) (HistoryPage, error) {
	from, err := parsePosition(q.Cursor)
	if err != nil {
		return HistoryPage{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, q.Wait)
	defer cancel()
	for every := followAtOnce; ; every = min(2*every, followLater) {
		page, err := c.historyPage(ctx, i, from, q.Limit)
		if err != nil || len(page.Records) > 0 || page.Later == "" || waiting.Err() != nil {
			return page, err
		}
		if _, _, err := c.client.Outcome(ctx, i); err != nil {
			return page, err
		}
		if err := pause(waiting, nil, func() error { return errAgain }, every); !errors.Is(err, errAgain) {
			return page, nil
		}
	}
}

// historyPage returns what there is of a history, from a position on.
func (c *Control) historyPage(ctx context.Context, i store.Instance, from position, limit int) (HistoryPage, error) {
	l, err := c.store.Load(ctx, i) // of a run that is not there, nothing is stored
	if err != nil {
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
	} else if !l.Lifecycle.Status.Final() {
		page.Later = at.String()
	}
	return page, err
}
