// Package eventfile reads the file that specifies the sources and the sinks of a server's events. It knows the text, and no broker.
package eventfile

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/suggest"
)

// File is the content of the file.
type File struct {
	Sources []Source
	Sinks   []Sink
}

// Source is a source of events.
type Source struct {
	Name       string
	Kind       string   // redis, nats, kafka or mqtt
	Namespaces []string // the namespaces that its events may reach; none for all

	URL      string   // of redis, nats and mqtt
	Brokers  []string // of kafka: HOST:PORT
	Stream   string   // of redis and nats
	Subject  string   // of nats: only messages with these subjects
	Topics   []string // of kafka
	Topic    string   // of mqtt: may have wildcards
	Group    string   // of redis and kafka; the durable consumer of nats
	ClientID string   // of mqtt
	// DeadLetters is the place for messages that contain no event, or an event that cannot be accepted: a stream of redis, a subject of nats, a topic
	// of kafka and mqtt.
	DeadLetters string

	Username       string
	PasswordSecret string // the name of a secret
	TLS            bool   // of kafka
	SASL           string // of kafka: plain, scram-sha-256 or scram-sha-512
}

// Error is a mistake in the file.
type Error struct {
	File         string
	Line, Column int
	Detail, Help string
}

// Error returns the place and the mistake.
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Detail)
}

// Parse parses a file. The first mistake is an *Error.
func Parse(name string, text []byte) (*File, error) {
	tree, problems := source.Read(name, text)
	if len(problems) > 0 {
		p := problems[0]
		return nil, &Error{File: name, Line: p.Range.Start.Line, Column: p.Range.Start.Column, Detail: p.Message, Help: p.Help}
	}
	r := &reader{tree: tree, file: name}
	file := &File{}
	r.object(tree.Root, "the file", map[string]func(*yaml.Node){
		"sources": func(n *yaml.Node) { r.sources(n, file) },
		"sinks":   func(n *yaml.Node) { r.sinks(n, file) },
	})
	if len(file.Sources)+len(file.Sinks) == 0 {
		r.fail(tree.Root, "", "the file needs `sources` or `sinks`")
	}
	if r.err != nil {
		return nil, r.err
	}
	return file, nil
}

// reader reads a tree until the first mistake.
type reader struct {
	tree *source.Tree
	file string
	err  error
}

func (r *reader) fail(n *yaml.Node, help, format string, args ...any) {
	if r.err == nil {
		at := r.tree.RangeOf(n).Start
		r.err = &Error{File: r.file, Line: at.Line, Column: at.Column, Detail: fmt.Sprintf(format, args...), Help: help}
	}
}

// object reads the members of an object; what names the object for people, and needed are the required members.
func (r *reader) object(n *yaml.Node, what string, members map[string]func(*yaml.Node), needed ...string) {
	if n.Kind != yaml.MappingNode {
		r.fail(n, "", "%s is an object, got %s", what, source.Describe(n))
		return
	}
	var names []string
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	r.noneTwice(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read, ok := members[key.Value]
		if !ok {
			help := "it may have " + strings.Join(names, ", ")
			if near := suggest.Nearest(key.Value, names); near != "" {
				help = "did you mean " + near + "? " + help
			}
			r.fail(key, help, "%s has no member %s", what, shorten.Quoted(key.Value))
			return
		}
		read(value)
	}
	for _, name := range needed {
		if _, value := source.Child(n, name); value == nil {
			r.fail(n, "", "%s needs `%s`", what, name)
		}
	}
}

// entryName is the form of the names of sources and sinks, which are labels of metrics.
var entryName = lazyregexp.New(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// named reads an object of entries by their names.
func (r *reader) named(n *yaml.Node, what, example string, read func(name string, n *yaml.Node)) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		r.fail(n, "for example "+what+"s: "+example, "`%ss` is an object of %ss by their names, got %s", what, what, source.Describe(n))
		return
	}
	r.noneTwice(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if !entryName().MatchString(key.Value) {
			r.fail(key, "", "a name is of lower-case letters, digits and inner hyphens, at most 63, got %s", shorten.Quoted(key.Value))
		}
		read(key.Value, n.Content[i+1])
	}
}

// kind contains the members of a kind of source or sink.
type kind struct {
	members map[string]func(*yaml.Node)
	needed  []string
}

// entry is a source or a sink that is being read.
type entry struct {
	what    string // its name for people
	is      *string
	members map[string]func(*yaml.Node) // members of all kinds
	kinds   map[string]kind
	check   func(*yaml.Node) // called when its kind was read
}

// entry reads an entry. One of several members determines its kind.
func (r *reader) entry(n *yaml.Node, e entry) {
	for name, own := range e.kinds {
		e.members[name] = func(n *yaml.Node) {
			if *e.is != "" {
				r.fail(n, "make two of it", "the %s is of one kind, and this is %s already", e.what, *e.is)
			}
			*e.is = name
			if key := misplaced(n, own.members, e.members); key != nil {
				r.fail(key, "write it beside `"+name+"`", "`%s` of the %s has no member %s", name, e.what, shorten.Quoted(key.Value))
			}
			r.object(n, "`"+name+"` of the "+e.what, own.members, own.needed...)
			e.check(n)
		}
	}
	for name, own := range e.kinds {
		if _, value := source.Child(n, name); value == nil {
			continue
		}
		if key := misplaced(n, e.members, own.members); key != nil {
			r.fail(key, fmt.Sprintf("write it below `%s`: `%[1]s: { %s: ... }`", name, key.Value), "the %s has no member %s", e.what, shorten.Quoted(key.Value))
		}
	}
	r.object(n, "the "+e.what, e.members)
	if *e.is == "" {
		r.fail(n, "it needs one of "+strings.Join(slices.Sorted(maps.Keys(e.kinds)), ", "), "the %s does not say what it is", e.what)
	}
}

// misplaced returns the name of the first member of an object that belongs elsewhere, or nil.
func misplaced(n *yaml.Node, here, elsewhere map[string]func(*yaml.Node)) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; here[key.Value] == nil && elsewhere[key.Value] != nil {
			return key
		}
	}
	return nil
}

// noneTwice refuses members of the same name.
func (r *reader) noneTwice(n *yaml.Node) {
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if seen[key.Value] {
			r.fail(key, "", "%s stands here twice", shorten.Quoted(key.Value))
		}
		seen[key.Value] = true
	}
}

// text reads a text that is not blank.
func (r *reader) text(to *string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		switch {
		case !source.IsText(n):
			r.fail(n, "", "it must be text, got %s", source.Describe(n))
		case strings.TrimSpace(n.Value) == "":
			r.fail(n, "", "it must not be empty")
		}
		*to = n.Value
	}
}

// texts reads a list of texts, at least one.
func (r *reader) texts(to *[]string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
			r.fail(n, "", "it must be a list of texts with at least one, got %s", source.Describe(n))
			return
		}
		for _, item := range n.Content {
			var text string
			r.text(&text)(item)
			if slices.Contains(*to, text) {
				r.fail(item, "", "%s stands here twice", shorten.Quoted(text))
			}
			*to = append(*to, text)
		}
	}
}

func (r *reader) bool(to *bool) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if !source.IsBool(n) {
			r.fail(n, "", "it must be true or false, got %s", source.Describe(n))
		}
		*to = source.Data(n) == true
	}
}

func (r *reader) oneOf(to *string, allowed ...string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if r.text(to)(n); !slices.Contains(allowed, *to) {
			r.fail(n, "it may be "+strings.Join(allowed, ", "), "%s is not known here", shorten.Quoted(n.Value))
		}
	}
}

// url reads a URL with one of some schemes, and without a password: more people read files than should know secrets.
func (r *reader) url(to *string, schemes ...string) func(*yaml.Node) {
	return func(n *yaml.Node) {
		r.text(to)(n)
		u, err := url.Parse(*to)
		allowed := strings.Join(schemes, "://, ") + "://"
		switch {
		case err != nil: // the error may quote the password
			r.fail(n, "for example "+schemes[0]+"://localhost", "it is not a URL")
		case u.User != nil:
			r.fail(n, "write username and passwordSecret, the name of a secret (swrun serve --secrets FILE)", "a URL of this file must not hold a user or a password")
		case !slices.Contains(schemes, u.Scheme) || u.Host == "":
			r.fail(n, "it begins with "+allowed, "%s is not a URL for this kind", shorten.Quoted(*to))
		}
	}
}
