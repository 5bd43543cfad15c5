package control

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/interpreter"
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

// position is the beginning of a page: an entry of the history, and the number of its records on earlier pages. If only one run of the execution is
// read, run is its number; 0 means all runs.
type position struct{ entry, record, run int }

func (p position) String() string {
	text := strconv.Itoa(p.entry) + "." + strconv.Itoa(p.record)
	if p.run > 0 {
		text += "." + strconv.Itoa(p.run)
	}
	return text
}

func parsePosition(cursor string) (p position, err error) {
	if cursor == "" {
		return p, nil
	}
	numbers := []*int{&p.entry, &p.record, &p.run}
	for n, text := range strings.SplitN(cursor, ".", len(numbers)) {
		if *numbers[n], err = strconv.Atoi(text); err != nil {
			break
		}
	}
	if err != nil || p.entry < 0 || p.record < 0 || p.String() != cursor {
		return p, errForeignCursor()
	}
	return p, nil
}

func errForeignCursor() error {
	return &client.OptionError{Field: "cursor", Detail: "must be a cursor from a page of this history"}
}

// HistoryQuery selects a part of a run's history.
type HistoryQuery struct {
	Run    string        // the run of the execution: its number or latest; AllRuns or empty for every run
	Cursor string        // the beginning: Next or Later of the page before; empty for the beginning of the history
	Limit  int           // maximum number of records
	Wait   time.Duration // time to wait for a record, if there are none
}

// The maximum delay until new history is noticed: at first, and later.
const (
	followAtOnce = 2 * time.Millisecond
	followLater  = 100 * time.Millisecond
)

// History returns a page of a run's history. It does not wait for a quarantined run: the error is a *client.QuarantinedError.
func (c *Control) History(ctx context.Context, i store.Instance, q HistoryQuery) (HistoryPage, error) {
	from, err := c.positionOf(ctx, i, q)
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

// AllRuns selects all runs of an execution.
const AllRuns = "all"

// positionOf returns the beginning of the page of a query.
func (c *Control) positionOf(ctx context.Context, i store.Instance, q HistoryQuery) (position, error) {
	at, err := parsePosition(q.Cursor)
	if err != nil {
		return at, err
	}
	numbers, number, err := c.oneRun(ctx, i, q.Run)
	switch {
	case err != nil:
		return at, err
	case q.Cursor == "" && number > 0:
		return c.firstOfRun(ctx, i, number, numbers.First)
	case q.Cursor != "" && at.run != number && (at.run == 0 || q.Run != client.LatestRun): // the run that was the latest one may have continued
		return at, errForeignCursor()
	}
	return at, nil
}

// oneRun returns the number of the requested run of an execution, 0 for all runs, and the numbers of the existing runs.
func (c *Control) oneRun(ctx context.Context, i store.Instance, run string) (numbers client.RunNumbers, number int, err error) {
	if run == "" || run == AllRuns {
		return numbers, 0, nil
	}
	if number, err = client.ParseRunNumber(run); err != nil {
		return numbers, 0, err
	}
	if numbers, err = c.client.RunNumbers(ctx, i); err != nil {
		return numbers, 0, err
	}
	number = cmp.Or(number, numbers.Latest)
	return numbers, number, numbers.Refuse(i, number)
}

// firstOfRun returns the beginning of the history of one run in the history of its execution, whose first run has the number current.
func (c *Control) firstOfRun(ctx context.Context, i store.Instance, number, current int) (position, error) {
	at := position{run: number}
	if current == number {
		return at, nil
	}
	_, err := c.client.History(ctx, i, 0, func(e client.HistoryEntry) error {
		for n, r := range e.Events {
			if r.Type != interpreter.WorkflowContinued {
				continue
			}
			if current++; current == number {
				at.record = n + 1
				return errEnough
			}
		}
		at.entry++
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return at, err
}

// historyPage returns the available part of a history after a position.
func (c *Control) historyPage(ctx context.Context, i store.Instance, from position, limit int) (HistoryPage, error) {
	l, err := c.store.Load(ctx, i) // for a run that does not exist, nothing is stored
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
			if from.run > 0 && e.Events[at.record].Type == interpreter.WorkflowContinued { // the end of the run
				return errEnough
			}
		}
		at = position{at.entry + 1, 0, from.run}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	} else if !l.Lifecycle.Status.Final() {
		page.Later = at.String()
	}
	return page, err
}
