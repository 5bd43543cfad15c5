package control

import (
	"context"
	"sync"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/runtime/definition"
)

// InputSchema is what the latest version of a workflow says of its input.
type InputSchema struct {
	definition.Reference
	Title   string
	Schema  any    // JSON Schema; nil if there is none in the document
	Dialect string // URI of the version of JSON Schema that it is of, unless it says another
}

// size is how many bytes the schema has, about.
func (i InputSchema) size() int { return len(i.Title) + expr.EncodedSize(i.Schema, maxInputSchemas) }

// maxInputSchemas is how many bytes of schemas are returned at a time, and about as many are kept.
const maxInputSchemas = 4 << 20

// InputSchemas returns those of the latest versions of all workflows that are wanted, at most limit of them, and less if they are large; more
// says that there are others.
func (c *Control) InputSchemas(ctx context.Context, wanted func(namespace string) bool, limit int) (all []InputSchema, more bool, err error) {
	deployed, err := definition.AllDeployed(ctx, c.store, "", "")
	if err != nil {
		return nil, false, err
	}
	bytes := 0
	for _, d := range deployed {
		if !wanted(d.Namespace) || d.Latest() == "" {
			continue
		}
		if more = len(all) == limit || bytes > maxInputSchemas; more {
			break
		}
		input, err := c.inputSchema(ctx, definition.Reference{Namespace: d.Namespace, Name: d.Name, Version: d.Latest()})
		if err != nil {
			return nil, false, err
		}
		bytes += input.size()
		all = append(all, input)
	}
	return all, more, nil
}

// inputSchema returns what a version of a workflow says of its input. The document is read once as long as there is room for that.
func (c *Control) inputSchema(ctx context.Context, r definition.Reference) (InputSchema, error) {
	resolved, digest, err := definition.Resolve(ctx, c.store, r)
	if err != nil {
		return InputSchema{}, err
	}
	input, known := c.inputs.get(digest)
	if !known {
		_, w, err := c.deployed(ctx, resolved)
		if err != nil {
			return InputSchema{}, err
		}
		input.Title = w.Document.Title
		if w.Input != nil && w.Input.Schema != nil {
			input.Schema, input.Dialect = w.Input.Schema.Document, w.Input.Schema.Dialect()
		}
		c.inputs.keep(digest, input)
	}
	input.Reference = resolved
	return input, nil
}

// keptInputs are what documents that were read say of their inputs, by their digests.
type keptInputs struct {
	mu    sync.Mutex
	all   map[string]InputSchema
	bytes int
}

func (k *keptInputs) get(digest string) (InputSchema, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	input, known := k.all[digest]
	return input, known
}

// keep keeps one more, and forgets all others if there is no room: they are read again.
func (k *keptInputs) keep(digest string, input InputSchema) {
	k.mu.Lock()
	defer k.mu.Unlock()
	size := input.size() + keptOverhead
	if k.all == nil || k.bytes+size > 2*maxInputSchemas {
		k.all, k.bytes = map[string]InputSchema{}, 0
	}
	k.all[digest] = input
	k.bytes += size
}

// keptOverhead is how many bytes an entry takes besides its schema, about.
const keptOverhead = 500
