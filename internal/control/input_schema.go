package control

import (
	"context"
	"sync"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/runtime/definition"
)

// InputSchema is the input schema of the latest version of a workflow.
type InputSchema struct {
	definition.Reference
	Title   string
	Schema  any    // JSON Schema; nil if the document has none
	Dialect string // URI of its version of JSON Schema, unless it specifies another one
}

// size returns the approximate size of the schema, in bytes.
func (i InputSchema) size() int { return len(i.Title) + expr.EncodedSize(i.Schema, maxInputSchemas) }

// maxInputSchemas is the maximum size of the schemas in one result, in bytes. About twice as many bytes are cached.
const maxInputSchemas = 4 << 20

// InputSchemas returns the input schemas of the latest versions of all wanted workflows, at most limit of them, and fewer if they are large; more is
// true if there are others.
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

// inputSchema returns the input schema of a version of a workflow. The document is read once if there is room for its schema.
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

// keptInputs is a cache of the input schemas of documents, by their digests.
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

// keep adds a schema. Without room, it first deletes all others, which are then read again.
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

// keptOverhead is the approximate size of an entry besides its schema, in bytes.
const keptOverhead = 500
