package store

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/swrun/swrun/interpreter"
)

// Listens are the filters of the events that a run listens for, as its record keeps them. It is comparable: the same filters in
// another order are the same.
type Listens string

// NewListens returns them for a run of a namespace. Without a namespace they are as builds before decision 71 wrote them.
func NewListens(namespace string, filters []interpreter.EventFilter) Listens {
	if len(filters) == 0 {
		return ""
	}
	var texts []string
	for _, f := range filters {
		f = indexed(f)
		for _, from := range markedFrom(namespace, f.From) {
			f.From = from
			texts = append(texts, entryOf(f))
		}
	}
	slices.Sort(texts)
	data, _ := json.Marshal(slices.Compact(texts)) // texts can be written
	return Listens(data)
}

// maxIndexed is how many bytes the type or the expressions of a filter may have as the index writes them. The keys of a file are limited.
const maxIndexed = 10 << 10

// indexed returns the filter under which the index stores a run that listens with f. Parts that are too long are omitted. The run then
// receives more events and filters them itself.
func indexed(f interpreter.EventFilter) interpreter.EventFilter {
	if len(url.PathEscape(f.Type)) > maxIndexed {
		f.Type = ""
	}
	if len(url.PathEscape(f.From)) > maxIndexed {
		f.From, f.Key = "", ""
	}
	return f
}

// entries returns the index entry of each filter.
func (l Listens) entries() (all []string) {
	if l != "" && json.Unmarshal([]byte(l), &all) != nil {
		return nil // NewListens has written it
	}
	return all
}

// Types returns the types of the events that a run listens for, each once; the empty one is of filters for any type.
func (l Listens) Types() (all []string) {
	for _, entry := range l.entries() {
		escaped, _, _ := strings.Cut(entry, " ")
		if kind, err := url.PathUnescape(escaped); err == nil && !slices.Contains(all, kind) {
			all = append(all, kind)
		}
	}
	return all
}

// entryOf returns the index entry of a filter. Filters of the same type are adjacent, and among them filters with the same expressions.
func entryOf(f interpreter.EventFilter) string {
	return url.PathEscape(f.Type) + " " + url.PathEscape(f.From) + " " + f.Key + " "
}

// ListenEntries returns the entries of a run in the listener index.
func (r *Lifecycle) ListenEntries(i Instance) (all []string) {
	for _, entry := range r.Listens.entries() {
		all = append(all, entry+i.String())
	}
	return all
}

// ListenEntries returns the entries of the index that a change removes and adds.
func (c *Change) ListenEntries(i Instance) (removed, added []string) {
	var before Listens
	if c.From != nil {
		before = c.From.Listens
	}
	if before == c.To.Listens {
		return nil, nil
	}
	if c.From != nil {
		removed = c.From.ListenEntries(i)
	}
	return removed, c.To.ListenEntries(i)
}

// Listening asks which runs listen for an event.
type Listening struct {
	Partitions []int
	Types      []ListenType   // whose expressions are wanted
	Filters    []ListenFilter // exactly these are asked for; they are of Types, if there are any
	After      Instance       // with one partition and filter: those after this one; zero begins at the beginning
	N          int            // maximum number for each filter in each partition
}

// ListenFilter is a filter that is asked for.
type ListenFilter struct {
	interpreter.EventFilter
	Namespace string // restricts the answer to runs of the namespace; empty for all
}

// Listeners is the answer to Listening.
type Listeners struct {
	Runs []ListeningRuns // the filters with at least one run
	// From are the distinct expressions of all filters of Types, without keys. The caller asks again for the expressions that it did not
	// know.
	From  []interpreter.EventFilter
	known map[interpreter.EventFilter]bool // of From
}

// ListeningRuns are the runs of a partition that have a filter.
type ListeningRuns struct {
	Partition int // itself
	Filter    int // index of the filter in the request
	Runs      []Instance
}

// AddFrom adds the expressions of a filter, once.
func (l *Listeners) AddFrom(f interpreter.EventFilter) {
	if f.Key = ""; l.known[f] {
		return
	}
	if l.known == nil {
		l.known = map[interpreter.EventFilter]bool{}
	}
	l.known[f], l.From = true, append(l.From, f)
}

// Between returns the exclusive lower and upper bound of the entries of a filter.
func (c *Listening) Between(f ListenFilter) (from, to string) {
	entry := entryOf(f.EventFilter)
	from, to = entry, strings.TrimSuffix(entry, " ")+"!"
	if f.Namespace != "" {
		from, to = entry+f.Namespace+"/", entry+f.Namespace+"0" // the character after the slash
	}
	if c.After != (Instance{}) {
		from = entry + c.After.String() + "\x00"
	}
	return from, to
}

// ParseListenEntry parses an index entry. next is a lower bound of the entries with other expressions or types that follow.
func ParseListenEntry(entry string) (f interpreter.EventFilter, i Instance, next string, err error) {
	parts := strings.SplitN(entry, " ", 4)
	if len(parts) != 4 {
		return f, i, "", fmt.Errorf("%.200q is not an entry of the listener index", entry)
	}
	if f.Type, err = url.PathUnescape(parts[0]); err == nil {
		f.From, err = url.PathUnescape(parts[1])
	}
	f.Key = parts[2]
	return f, InstanceOf(parts[3]), parts[0] + " " + parts[1] + "!", err
}

// LeftListening describes, for people, an index entry without a matching record. i is the run that the entry names.
func LeftListening(i Instance, entry string) string {
	if i.Check() != nil {
		return fmt.Sprintf("%.200q was in the listener index, but belongs to no run", entry)
	}
	return i.String() + ": was in the listener index for events that it does not listen for"
}
