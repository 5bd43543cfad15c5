package control

import (
	"context"
	"fmt"
	"strings"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/describe"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// Choice selects runs.
type Choice struct {
	Where      string   // a filter; empty for all
	Namespaces []string // only these namespaces; empty for all
}

// filter returns the filter of a choice; an invalid one is a *filter.Error.
func (c *Control) filter(chosen Choice) (filter.Filter, error) {
	where, err := filter.Parse(chosen.Where, c.now())
	return where.And(filter.In(chosen.Namespaces...)), err
}

// CheckChoice returns the mistake of an invalid choice: a *filter.Error.
func (c *Control) CheckChoice(chosen Choice) error {
	_, err := c.filter(chosen)
	return err
}

// RunPage is a part of a list of runs.
type RunPage struct {
	Runs []api.Run
	Next string // cursor of the next page; empty at the end
	// Unreadable counts runs that belong to the page and cannot be read.
	Unreadable int
}

// RunQuery selects a part of a list of runs.
type RunQuery struct {
	Choice
	Cursor  string // the last cursor of the page before; empty for the first page
	Limit   int    // maximum number of runs
	Summary bool   // adds the progress of each run, which is read run by run
}

// List returns a page of runs, the newest first.
func (c *Control) List(ctx context.Context, q RunQuery) (RunPage, error) {
	where, err := c.filter(q.Choice)
	if err != nil {
		return RunPage{}, err
	}
	found, err := c.client.List(ctx, client.Query{Where: where, Limit: q.Limit, Cursor: q.Cursor})
	if err != nil {
		return RunPage{}, err
	}
	page := RunPage{api.NewRuns(found.Runs), found.Cursor, found.Unreadable}
	for n := range page.Runs {
		if q.Summary {
			page.Runs[n].Summary = c.summary(ctx, found.Runs[n].Instance)
		}
	}
	return page, ctx.Err()
}

// summary returns the progress of a run: no progress for a run that cannot be read.
func (c *Control) summary(ctx context.Context, i store.Instance) *api.Summary {
	found, err := c.client.Describe(ctx, i)
	if err != nil {
		return &api.Summary{At: "-", Next: "-"}
	}
	d := api.NewDescription(found, &client.Review{Source: found})
	return &api.Summary{At: describe.Where(&d), Next: describe.Next(&d)}
}

// IsRunName reports whether a text may be the id of a run, the prefix of an id, or namespace/id.
func IsRunName(name string) bool {
	namespace, id, full := strings.Cut(name, "/")
	if !full {
		namespace, id = "any", name+"x" // the prefix of an id may end with any character of an id
	}
	return name != "" && (store.Instance{Namespace: namespace, ID: id}).Check() == nil
}

// Find returns the runs of some namespaces, or of all, that match a name: the id of a run, the prefix of an id, or namespace/id.
func (c *Control) Find(ctx context.Context, name string, namespaces []string) (api.FoundRuns, error) {
	if !IsRunName(name) {
		return api.FoundRuns{}, &client.OptionError{Field: "name", Detail: fmt.Sprintf("%s cannot be the name of a run", shorten.Quoted(name))}
	}
	exact, begun, err := c.client.Find(ctx, name, namespaces...)
	return api.NewFoundRuns(exact, begun), err
}

// Count counts runs: all together, or by the value of a field.
func (c *Control) Count(ctx context.Context, chosen Choice, by string) (api.Count, error) {
	where, err := c.filter(chosen)
	if err != nil {
		return api.Count{}, err
	}
	var group *filter.Grouping
	if by != "" {
		if group, err = filter.Group(by); err != nil {
			return api.Count{}, &client.OptionError{Field: "by", Detail: err.Error()}
		}
	}
	groups, unreadable, err := c.client.Count(ctx, where, group)
	counted := api.NewCount(by, group, groups)
	counted.Unreadable = unreadable
	return counted, err
}

// Selection are the runs of a choice.
type Selection struct {
	Runs []store.Instance
	More bool // there are other runs
	// Unreadable counts runs that may be selected and cannot be read.
	Unreadable int
}

// Select returns the runs of a choice, at most limit of them.
func (c *Control) Select(ctx context.Context, chosen Choice, limit int) (s Selection, err error) {
	where, err := c.filter(chosen)
	if err != nil {
		return s, err
	}
	s.Unreadable, err = c.client.Choose(ctx, where, func(r *filter.Run) bool {
		if s.More = len(s.Runs) == limit; !s.More {
			s.Runs = append(s.Runs, r.Instance)
		}
		return !s.More
	})
	return s, err
}
