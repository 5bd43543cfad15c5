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

// indexed returns the filter by which the index finds a run that listens with a filter. It is the same one, without what is too long: then more events come to
// the run, which looks at each of them itself.
func indexed(f interpreter.EventFilter) interpreter.EventFilter {
	if len(url.PathEscape(f.Type)) > maxIndexed {
		f.Type = ""
	}
	if len(url.PathEscape(f.From)) > maxIndexed {
		f.From, f.Key = "", ""
	}
	return f
}

// entries returns what stands for each filter in an index.
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

// entryOf returns what stands for a filter in an index: those of the same type stand together there, and among them those of the
// same expressions.
func entryOf(f interpreter.EventFilter) string {
	return url.PathEscape(f.Type) + " " + url.PathEscape(f.From) + " " + f.Key + " "
}

// ListenEntries are the entries of a run in the index of those who listen.
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
	N          int            // at most so many of each filter in each partition
}

// ListenFilter is a filter that is asked for.
type ListenFilter struct {
	interpreter.EventFilter
	Namespace string // only its runs; empty for those of all
}

// Listeners is the answer to Listening.
type Listeners struct {
	Runs []ListeningRuns // those of which there are any
	// From are the expressions of all filters of Types, each once and without keys: the caller asks again for those that it did not know.
	From  []interpreter.EventFilter
	known map[interpreter.EventFilter]bool // of From
}

// ListeningRuns are the runs of a partition that have a filter.
type ListeningRuns struct {
	Partition int // itself
	Filter    int // the number of the filter among those that were asked for
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

// Between returns what the entries of a filter are above, and what they are below.
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

// ParseListenEntry reads an entry of the index, and returns what the entries of other expressions or types that come after it are
// above.
func ParseListenEntry(entry string) (f interpreter.EventFilter, i Instance, next string, err error) {
	parts := strings.SplitN(entry, " ", 4)
	if len(parts) != 4 {
		return f, i, "", fmt.Errorf("%.200q is not an entry of those who listen", entry)
	}
	if f.Type, err = url.PathUnescape(parts[0]); err == nil {
		f.From, err = url.PathUnescape(parts[1])
	}
	f.Key = parts[2]
	return f, InstanceOf(parts[3]), parts[0] + " " + parts[1] + "!", err
}

// LeftListening says, for people, that an entry of the index is that of no record: i is the run that it names.
func LeftListening(i Instance, entry string) string {
	if i.Check() != nil {
		return fmt.Sprintf("%.200q stood among those who listen, and is that of no run", entry)
	}
	return i.String() + ": stood among those who listen, for what it does not listen for"
}
