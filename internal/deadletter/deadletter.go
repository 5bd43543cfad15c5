// Package deadletter keeps messages of brokers that contain no event, or an event that no run can take: in the registry of the store, a limited
// number of each source, until an operator publishes or drops them.
package deadletter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/swrun/swrun/internal/cloudevent"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/runtime/store"
)

// The limits of the kept messages.
const (
	MaxOfSource = 100                 // the newest letters of each source
	MaxBody     = 64 << 10            // bytes of a body
	MaxHeaders  = 16 << 10            // bytes of headers and attributes together
	KeptFor     = 90 * 24 * time.Hour // since the last letter of a source
	maxWhy      = 500
	maxPlace    = 200
)

// Message is a message that a source sets aside.
type Message struct {
	Source, Kind string
	// Namespaces are the namespaces that events of the source reach; nil for all.
	Namespaces []string
	Place      string // its position in the broker, for people
	Why        string
	// Broken is true if the attributes of the message cannot be read, so that it cannot be published unchanged.
	Broken  bool
	Headers map[string][]string
	cloudevent.Message
}

// Letter is a message in a list.
type Letter struct {
	Hash  string    `json:"h"`
	Place string    `json:"p"`
	First time.Time `json:"f"`
	Last  time.Time `json:"l"`
	// Times is the number of times that a message with the same place and content has arrived. A broker may deliver the same message again.
	Times       int    `json:"n"`
	Why         string `json:"w"`
	ContentType string `json:"c,omitempty"`
	Bytes       int    `json:"b"`
	// Cut is true if only a part of the message is kept.
	Cut    bool `json:"x,omitempty"`
	Broken bool `json:"k,omitempty"`
}

// Box contains the letters of a source.
type Box struct {
	Source     string   `json:"-"`
	Kind       string   `json:"k"`
	Namespaces []string `json:"s,omitempty"`
	// Forgotten counts the letters that were dropped for newer ones.
	Forgotten int      `json:"f,omitempty"`
	Letters   []Letter `json:"l"` // the newest last
}

// Content is the content of a letter.
type Content struct {
	Attributes map[string]string   `json:"a,omitempty"`
	Headers    map[string][]string `json:"h,omitempty"`
	Body       []byte              `json:"b,omitempty"`
}

// ID returns the name of a letter of the box for people.
func (b *Box) ID(l Letter) string { return b.Source + "/" + l.Hash }

// IsSeenBy reports whether a caller of some namespaces, nil for all, sees the letters: events of the source reach no other namespaces.
func (b *Box) IsSeenBy(namespaces []string) bool {
	if namespaces == nil {
		return true
	}
	return len(b.Namespaces) > 0 && !slices.ContainsFunc(b.Namespaces, func(n string) bool { return !slices.Contains(namespaces, n) })
}

// Find returns the index of a letter in the box; -1 for a missing letter.
func (b *Box) Find(hash string) int {
	return slices.IndexFunc(b.Letters, func(l Letter) bool { return l.Hash == hash })
}

func boxOf(source string) store.RegistryEntry[Box] {
	return store.RegistryEntry[Box]{Kind: store.RegistryLetters, Key: source, For: func(*Box) time.Duration { return KeptFor }}
}

func changeBox(ctx context.Context, r store.Registry, source string, change func(*Box) error) (Box, error) {
	b, err := boxOf(source).Change(ctx, r, change, func(b *Box) bool { return len(b.Letters) == 0 })
	b.Source = source
	return b, err
}

// Keep keeps a message, and deletes the oldest ones of its source above the limit. For a message that is kept already, it only increases the count.
// After an error the message may be kept or not, and can be kept again.
func Keep(ctx context.Context, r store.Registry, m Message) error {
	content, cut := contentOf(m)
	letter := Letter{
		Hash: hash(m), Place: shorten.To(m.Place, maxPlace), Times: 1, Why: shorten.To(m.Why, maxWhy), ContentType: shorten.To(m.ContentType, maxPlace),
		Bytes: len(m.Body), Cut: cut, Broken: m.Broken,
	}
	value, err := store.EncodeEntry(store.RegistryContents, content)
	if err != nil {
		return err
	}
	stored, err := store.Overwrite(ctx, r, store.Registration{Kind: store.RegistryContents, Key: m.Source + "/" + letter.Hash, Value: value, For: KeptFor})
	if err != nil {
		return err
	}
	letter.First, letter.Last = stored.At, stored.At
	var forgotten []Letter
	_, err = changeBox(ctx, r, m.Source, func(b *Box) error {
		one := letter
		b.Kind, b.Namespaces = m.Kind, m.Namespaces
		if n := b.Find(one.Hash); n >= 0 {
			one.First, one.Times = b.Letters[n].First, b.Letters[n].Times+1
			b.Letters = slices.Delete(b.Letters, n, n+1)
		}
		all := append(b.Letters, one)
		over := max(0, len(all)-MaxOfSource)
		forgotten = slices.Clone(all[:over])
		b.Letters, b.Forgotten = all[over:], b.Forgotten+over
		return nil
	})
	if err != nil {
		return err
	}
	for _, old := range forgotten {
		_ = unregister(ctx, r, m.Source, old.Hash) // it expires otherwise
	}
	return nil
}

func unregister(ctx context.Context, r store.Registry, source, hash string) error {
	return r.Unregister(ctx, store.RegistryContents, source+"/"+hash, store.AnyVersion)
}

// contentOf returns the kept part of a message, and whether something is left out.
func contentOf(m Message) (c Content, cut bool) {
	c = Content{Headers: m.Headers, Body: m.Body}
	size := 0
	for name, values := range m.Headers {
		size += len(name) + len(strings.Join(values, ""))
	}
	for name, value := range m.Attributes {
		text, _ := value.(string) // brokers carry text
		if c.Attributes == nil {
			c.Attributes = map[string]string{}
		}
		c.Attributes[name] = text
		size += len(name) + len(text)
	}
	if size > MaxHeaders {
		c.Headers, c.Attributes, cut = nil, nil, true
	}
	if len(c.Body) > MaxBody {
		c.Body, cut = c.Body[:MaxBody], true
	}
	return c, cut
}

// hash names a message by its place and its content.
func hash(m Message) string {
	text, _ := json.Marshal([]any{m.Place, m.ContentType, m.Attributes, m.Headers}) // it contains only texts
	sum := sha256.Sum256(append(append(text, '\n'), m.Body...))
	return hex.EncodeToString(sum[:8])
}

// All returns the boxes that a caller of some namespaces, nil for all, may see.
func All(ctx context.Context, r store.Registry, namespaces []string) (all []Box, err error) {
	entries, err := r.ListRegistered(ctx, store.RegistryList{Kind: store.RegistryLetters})
	if err != nil {
		return nil, err
	}
	for _, found := range entries {
		b, err := store.DecodeEntry[Box](store.RegistryLetters, found)
		if err != nil {
			return nil, err
		}
		b.Source = found.Key
		if b.IsSeenBy(namespaces) {
			all = append(all, b)
		}
	}
	return all, nil
}
