package control

import (
	"context"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// Choice says which runs are meant.
type Choice struct {
	Where      string   // a filter; empty for all
	Namespaces []string // of which namespaces alone; empty for all
}

// filter returns the filter of a choice; one that cannot be read is a *filter.Error.
func (c *Control) filter(chosen Choice) (filter.Filter, error) {
	where, err := filter.Parse(chosen.Where, c.now())
	return where.And(filter.In(chosen.Namespaces...)), err
}

// RunPage is a part of a list of runs.
type RunPage struct {
	Runs []api.Run
	Next string // cursor of the next page; empty at the end
}

// List returns a page of runs, the newest first.
func (c *Control) List(ctx context.Context, chosen Choice, cursor string, limit int) (RunPage, error) {
	where, err := c.filter(chosen)
	if err != nil {
		return RunPage{}, err
	}
	page, err := c.client.List(ctx, client.Query{Where: where, Limit: limit, Cursor: cursor})
	return RunPage{api.NewRuns(page.Runs), page.Cursor}, err
}

// Count counts runs: all together, or by what a field of them is.
func (c *Control) Count(ctx context.Context, chosen Choice, by string) (api.Count, error) {
	where, err := c.filter(chosen)
	if err != nil {
		return api.Count{}, err
	}
	var group func(*filter.Run) string
	if by != "" {
		if group, err = filter.Group(by); err != nil {
			return api.Count{}, &client.OptionError{Field: "by", Detail: err.Error()}
		}
	}
	groups, err := c.client.Count(ctx, where, group)
	return api.NewCount(by, groups), err
}

// Select returns the runs of a choice, at most limit of them; more says that there are others.
func (c *Control) Select(ctx context.Context, chosen Choice, limit int) (all []store.Instance, more bool, err error) {
	where, err := c.filter(chosen)
	if err != nil {
		return nil, false, err
	}
	err = c.client.Each(ctx, where, func(r *filter.Run) bool {
		if more = len(all) == limit; !more {
			all = append(all, r.Instance)
		}
		return !more
	})
	return all, more, err
}
