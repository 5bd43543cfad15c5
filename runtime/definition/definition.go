// Package definition contains deployed workflows: documents with everything that they are compiled with, kept in a store's catalog under
// their digest and under namespace, name and version. Clients deploy and resolve definitions, workers compile them. A stored definition
// never changes.
package definition

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/store"
)

// Definition is a workflow as it was deployed: its document and every external resource that it is compiled with, so
// that a run always continues as it began.
type Definition struct {
	File      string            `json:"file,omitempty"` // name of the document's file, for people; not part of its identity
	Document  string            `json:"document"`       // YAML
	Resources map[string][]byte `json:"resources,omitempty"`
	Locations map[string]string `json:"locations,omitempty"` // of the resources of which a server has redirected the reader: where relative references in them start
}

// Name returns the name of the document in messages.
func (d Definition) Name() string {
	if d.File == "" {
		return "definition"
	}
	return d.File
}

// Load returns the resource that a reference in the document means.
func (d Definition) Load(_ context.Context, reference string) (interpreter.Resource, error) {
	if data, ok := d.Resources[reference]; ok {
		return interpreter.Resource{Data: data, Place: d.Locations[reference]}, nil
	}
	return interpreter.Resource{}, fmt.Errorf("it is not among the resources of the definition; deploy the document again")
}

// Reference returns the namespace, name and version of the definition's document.
func (d Definition) Reference() (Reference, error) {
	w, found := dsl.Parse(d.Name(), []byte(d.Document))
	if err := found.Err(); err != nil {
		return Reference{}, err
	}
	return Reference{w.Document.Namespace, w.Document.Name, w.Document.Version}, nil
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
	// namespaceKey notes the namespaces that runs may be in, so that one of them is found by its id alone.
	namespaceKey = "namespace/"
)

// Deploy stores a definition permanently under its namespace, name and version; another definition under the same three is refused as a
// Conflict.
func Deploy(ctx context.Context, c store.Catalog, d Definition) (Reference, error) {
	reference, err := d.Reference()
	if err != nil {
		return reference, err
	}
	digest, err := Put(ctx, c, reference.Namespace, d)
	if err != nil {
		return reference, err
	}
	key := nameKey + reference.String()
	if err = c.Define(ctx, key, []byte(digest)); store.RefusedAs(err) == store.Conflict {
		if kept, read := c.Definition(ctx, key); read == nil && leadsNowhere(ctx, c, string(kept)) {
			if err := c.Undefine(ctx, key, kept); err != nil {
				return reference, err
			}
			err = c.Define(ctx, key, []byte(digest))
		}
	}
	return reference, err
}

// leadsNowhere reports whether no definition is stored under the digest of a name: the name was overwritten, or the definition was removed,
// by another program.
func leadsNowhere(ctx context.Context, c store.Catalog, digest string) bool {
	_, err := c.Definition(ctx, digestKey+digest)
	return store.RefusedAs(err) == store.NoSuch
}

// Put stores a definition of a namespace under its digest alone.
func Put(ctx context.Context, c store.Catalog, namespace string, d Definition) (digest string, err error) {
	if err := GrantedIn(ctx).Check(Reference{Namespace: namespace}); err != nil {
		return "", err
	}
	if err := c.Define(ctx, namespaceKey+namespace, []byte(namespace)); err != nil {
		return "", err
	}
	data, err := form.Marshal(form.Definition, d)
	if err != nil {
		return "", fmt.Errorf("write the definition: %w", err)
	}
	digest = d.Digest()
	if err = c.Define(ctx, digestKey+digest, data); store.RefusedAs(err) == store.Conflict { // the same, from a file of another name, or damaged
		err = replaceDamaged(ctx, c, digest, data)
	}
	return digest, err
}

// replaceDamaged replaces a damaged definition under its digest.
func replaceDamaged(ctx context.Context, c store.Catalog, digest string, data []byte) error {
	kept, err := c.Definition(ctx, digestKey+digest)
	if err != nil || form.Unmarshal("the definition", form.Definition, kept, new(Definition)) == nil || form.Of(kept) > form.Definition {
		return err
	}
	if err := c.Undefine(ctx, digestKey+digest, kept); err != nil {
		return err
	}
	return c.Define(ctx, digestKey+digest, data)
}

var errNotStored = errors.New("the store does not have it")

// maxDigest is the maximum number of bytes of a digest in messages and lists, since it may have been overwritten.
const maxDigest = 64

// Load returns the definition that is stored under a digest; an UnavailableError if the store could not be asked, and a refusal (store.IsUnreadable) if it
// is damaged or missing: a run or the name of a workflow has led to it.
func Load(ctx context.Context, c store.Catalog, digest string) (d Definition, err error) {
	data, err := c.Definition(ctx, digestKey+digest)
	short := shorten.To(digest, maxDigest)
	switch {
	case store.RefusedAs(err) == store.NoSuch:
		return d, store.RefuseUnreadable("the definition "+short, errNotStored, time.Time{})
	case store.RefusedAs(err) != "":
		return d, err
	case err != nil:
		return d, &UnavailableError{Digest: short, Err: err}
	}
	if err := form.Unmarshal("the definition", form.Definition, data, &d); err != nil {
		return d, store.RefuseUnreadable("the definition "+short, err, time.Time{})
	}
	return d, nil
}

// Namespaces returns the namespaces that runs may be in, if ctx grants them.
func Namespaces(ctx context.Context, c store.Catalog) (all []string, err error) {
	keys, err := c.Definitions(ctx, namespaceKey)
	for _, key := range keys {
		if name, ok := strings.CutPrefix(key, namespaceKey); ok && GrantedIn(ctx).Has(name) {
			all = append(all, name)
		}
	}
	return all, err
}

// Resolve returns the digest of the deployed definition of a reference, and the reference with its version. A namespace that ctx does not
// grant is a *ForeignError.
func Resolve(ctx context.Context, c store.Catalog, r Reference) (Reference, string, error) {
	if err := GrantedIn(ctx).Check(r); err != nil {
		return r, "", err
	}
	if r.Version != Latest {
		digest, err := digestOf(ctx, c, r)
		return r, digest, err
	}
	for again := maxResolutions; ; again-- {
		latest, err := latestVersion(ctx, c, r)
		if err != nil {
			return r, "", err
		}
		named := Reference{Namespace: r.Namespace, Name: r.Name, Version: latest}
		digest, err := digestOf(ctx, c, named)
		if store.RefusedAs(err) != store.NoSuch || again == 0 {
			return named, digest, err
		} // it was taken away since the versions were read
	}
}

// maxResolutions is how often the latest version is looked up again because it was removed concurrently.
const maxResolutions = 100

func digestOf(ctx context.Context, c store.Catalog, r Reference) (string, error) {
	digest, err := c.Definition(ctx, nameKey+r.String())
	if store.RefusedAs(err) == store.NoSuch {
		err = &store.Refusal{Code: store.NoSuch, Detail: "workflow " + r.String()}
	}
	return string(digest), err
}

func latestVersion(ctx context.Context, c store.Catalog, r Reference) (string, error) {
	all, err := Versions(ctx, c, r)
	if err == nil && (len(all) == 0 || !Later(all[0], "")) { // a text that is not a version is never the latest
		err = &store.Refusal{Code: store.NoSuch, Detail: "workflow " + r.Namespace + "/" + r.Name}
	}
	if err != nil {
		return "", err
	}
	return all[0], nil
}

// Versions returns the deployed versions of the workflow that a reference names, beginning with the version that `latest` means.
func Versions(ctx context.Context, c store.Catalog, r Reference) (all []string, err error) {
	prefix := nameKey + r.Namespace + "/" + r.Name + ":"
	keys, err := c.Definitions(ctx, prefix)
	for _, key := range keys {
		all = append(all, strings.TrimPrefix(key, prefix))
	}
	slices.SortStableFunc(all, order)
	return all, err
}

// LatestVersions returns the latest version of each workflow that is deployed, in the order of their names. It asks the store once.
func LatestVersions(ctx context.Context, c store.Catalog) (all []Reference, err error) {
	keys, err := c.Definitions(ctx, nameKey)
	latest := map[Reference]string{} // by namespace and name
	for _, key := range keys {
		text, ok := strings.CutPrefix(key, nameKey)
		r, err := ParseReference(text)
		if !ok || err != nil || !GrantedIn(ctx).Has(r.Namespace) {
			continue
		}
		if of := (Reference{Namespace: r.Namespace, Name: r.Name}); Later(r.Version, latest[of]) {
			latest[of] = r.Version
		}
	}
	for of, version := range latest {
		all = append(all, Reference{Namespace: of.Namespace, Name: of.Name, Version: version})
	}
	slices.SortFunc(all, func(a, b Reference) int { return strings.Compare(a.String(), b.String()) })
	return all, err
}

// order sorts versions by Later.
func order(a, b string) int {
	switch {
	case Later(a, b):
		return -1
	case Later(b, a):
		return 1
	}
	return 0
}

// Later reports whether `latest` means version a rather than b: releases precede pre-releases, and texts that are not versions come last
// (semantics 10.7).
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
