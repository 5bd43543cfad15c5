package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// Definition is a workflow as it was deployed: its document and every external resource that it is compiled with, so
// that an instance always continues as it began.
type Definition struct {
	File      string            `json:"file,omitempty"` // what the document's file is called, for people; not part of its identity
	Document  string            `json:"document"`       // YAML
	Resources map[string][]byte `json:"resources,omitempty"`
}

// Name returns what the document is called in messages.
func (d Definition) Name() string {
	if d.File == "" {
		return "definition"
	}
	return d.File
}

// Digest identifies the definition by its content.
func (d Definition) Digest() string {
	d.File = ""
	data, _ := json.Marshal(d) // text and bytes always encode
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// Compile makes a definition ready to run.
type Compile func(Definition) (*interpreter.Program, error)

const (
	digestKey = "digest/"
	nameKey   = "workflow/"
	// namespaceKey notes the namespaces that instances may be in, so that one of them is found by its id alone.
	namespaceKey = "namespace/"
)

// define stores a definition of a namespace by its digest.
func define(ctx context.Context, c store.Catalog, namespace string, d Definition) (digest string, err error) {
	if err := c.Define(ctx, namespaceKey+namespace, []byte(namespace)); err != nil {
		return "", err
	}
	data, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("write the definition: %w", err)
	}
	digest = d.Digest()
	if err = c.Define(ctx, digestKey+digest, data); store.RefusedAs(err) == store.Conflict {
		err = nil // the same, from a file of another name
	}
	return digest, err
}

// namespaces returns those that instances may be in.
func namespaces(ctx context.Context, c store.Catalog) (all []string, err error) {
	keys, err := c.Definitions(ctx)
	for _, key := range keys {
		if name, ok := strings.CutPrefix(key, namespaceKey); ok {
			all = append(all, name)
		}
	}
	return all, err
}

// resolve returns the digest of what is deployed under a reference, and the reference with its version.
func resolve(ctx context.Context, c store.Catalog, r Reference) (Reference, string, error) {
	if r.Version == Latest {
		latest, err := latestVersion(ctx, c, r)
		if err != nil {
			return r, "", err
		}
		r.Version = latest
	}
	digest, err := c.Definition(ctx, nameKey+r.String())
	return r, string(digest), err
}

func latestVersion(ctx context.Context, c store.Catalog, r Reference) (string, error) {
	keys, err := c.Definitions(ctx)
	if err != nil {
		return "", err
	}
	prefix := nameKey + r.Namespace + "/" + r.Name + ":"
	latest := ""
	for _, key := range keys {
		if version, ok := strings.CutPrefix(key, prefix); ok && Later(version, latest) {
			latest = version
		}
	}
	if latest == "" {
		return "", &store.Refusal{Code: store.NoSuch, Detail: "workflow " + r.Namespace + "/" + r.Name}
	}
	return latest, nil
}

// Later reports whether `latest` means version a rather than b: releases come before pre-releases, and what is no
// version comes last (semantics 10.7).
func Later(a, b string) bool {
	left, err := semver.StrictNewVersion(a)
	if err != nil {
		return false
	}
	right, err := semver.StrictNewVersion(b)
	if err != nil {
		return true
	}
	if released := left.Prerelease() == ""; released != (right.Prerelease() == "") {
		return released
	}
	return left.GreaterThan(right)
}

// programs keeps what a worker has compiled.
type programs struct {
	catalog store.Catalog
	compile Compile

	mu       sync.Mutex
	compiled map[string]*compilation
}

type compilation struct {
	done    chan struct{} // closed when the rest is known
	program *interpreter.Program
	err     error
}

// loadWithin is how long a definition may be on its way.
const loadWithin = 30 * time.Second

// maxPrograms is how many programs are kept; more are compiled again when they are needed.
const maxPrograms = 512

// program returns the program of a definition; instances share it. When ctx ends before it is known, it is an
// unavailableError, and it goes on being loaded.
func (p *programs) program(ctx context.Context, digest string) (*interpreter.Program, error) {
	c := p.compilation(ctx, digest)
	select {
	case <-c.done:
		return c.program, c.err
	case <-ctx.Done():
		return nil, &unavailableError{digest, context.Cause(ctx)}
	}
}

func (p *programs) compilation(ctx context.Context, digest string) *compilation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.compiled[digest]; c != nil {
		return c
	}
	if len(p.compiled) >= maxPrograms || p.compiled == nil {
		p.compiled = map[string]*compilation{}
	}
	c := &compilation{done: make(chan struct{})}
	p.compiled[digest] = c
	go func() {
		defer close(c.done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadWithin)
		defer cancel()
		if c.program, c.err = p.contained(ctx, digest); c.err != nil { // it may be there next time
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.compiled, digest)
		}
	}()
	return c
}

// contained is load; a panic is a fault of the definition.
func (p *programs) contained(ctx context.Context, digest string) (program *interpreter.Program, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("compiling the definition %s panicked: %v\n%s", digest, v, debug.Stack())
		}
	}()
	return p.load(ctx, digest)
}

func (p *programs) load(ctx context.Context, digest string) (*interpreter.Program, error) {
	data, err := p.catalog.Definition(ctx, digestKey+digest)
	switch {
	case store.RefusedAs(err) != "":
		return nil, err
	case err != nil:
		return nil, &unavailableError{digest, err}
	}
	var d Definition
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("read the definition %s: %w", digest, err)
	}
	return p.compile(d)
}

// unavailableError is a definition that the store could not be asked for.
type unavailableError struct {
	digest string
	err    error
}

func (e *unavailableError) Error() string {
	return "ask for the definition " + e.digest + ": " + e.err.Error()
}
func (e *unavailableError) Unwrap() error { return e.err }
