package control

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Secrets are the secrets of a process for the workflows that it runs.
type Secrets interface {
	Lookup(name string) (any, bool)
	Allows(namespace, name string) bool
}

// Lacking returns the declared secrets that the tasks of a workflow in a namespace cannot read in a process with some secrets: those not granted to
// the namespace, and the others without a value.
func Lacking(s Secrets, namespace string, declared []string) (refused, missing []string) {
	for _, name := range declared {
		if !s.Allows(namespace, name) {
			refused = append(refused, name)
		} else if _, ok := s.Lookup(name); !ok {
			missing = append(missing, name)
		}
	}
	return refused, missing
}

// lookedAtOnce is the maximum number of documents that one look at a deployment reads, and keptDeclarations the maximum number that it caches. Each
// look reads other documents.
const (
	lookedAtOnce     = 200
	keptDeclarations = 20_000
)

// declarations are the secrets that the latest versions of deployed workflows declare, for the documents that were read.
type declarations struct {
	mu  sync.Mutex
	all map[definition.Reference]declaration
}

type declaration struct {
	secrets []string
	at      time.Time // time of the read: a version may be deleted and deployed again
}

// read reads documents, and returns the known declarations, and the number of documents that were never read. It begins with unread documents, and
// continues with the documents that were read longest ago.
func (d *declarations) read(ctx context.Context, c *Control) (map[definition.Reference]declaration, int, error) {
	latest, err := definition.LatestVersions(ctx, c.store)
	if err != nil {
		return nil, 0, err
	}
	left := max(0, len(latest)-keptDeclarations)
	latest = latest[:len(latest)-left]
	d.mu.Lock()
	defer d.mu.Unlock()
	known := map[definition.Reference]declaration{}
	for _, r := range latest {
		known[r] = d.all[r]
	}
	slices.SortStableFunc(latest, func(a, b definition.Reference) int { return known[a].at.Compare(known[b].at) })
	for _, r := range latest[:min(len(latest), lookedAtOnce)] {
		_, w, err := c.deployed(ctx, r)
		switch {
		case store.RefusedAs(err) == store.NoSuch:
			delete(known, r) // it was deleted
			continue
		case err != nil && ctx.Err() != nil:
			return nil, 0, err
		}
		one := declaration{at: c.now()} // SD019 reports a document that cannot be read
		if err == nil && w != nil {
			one.secrets = w.Use.Secrets
		}
		known[r] = one
	}
	for _, one := range known {
		if one.at.IsZero() {
			left++
		}
	}
	d.all = maps.Clone(known)
	return known, left, nil
}

// lackedSecrets reports the deployed workflows whose secrets this process lacks, in the namespaces that ctx grants.
func (c *Control) lackedSecrets(ctx context.Context) doctor.Finding {
	within, cancel := context.WithTimeout(forEveryone(ctx), healthWithin)
	defer cancel()
	known, unread, err := c.declared.read(within, c)
	if err != nil {
		return doctor.Failed(ctx, doctor.CodeSecrets, err)
	}
	var all []string
	granted := definition.GrantedIn(ctx)
	if granted != nil {
		unread = 0 // it counts the documents of all namespaces
	}
	for r, one := range known {
		if !granted.Has(r.Namespace) {
			continue
		}
		if granted != nil && one.at.IsZero() {
			unread++
		}
		refused, missing := Lacking(c.Secrets, r.Namespace, one.secrets)
		if len(missing) > 0 {
			all = append(all, fmt.Sprintf("%s needs %s, without a value here", r, named(missing)))
		}
		if len(refused) > 0 {
			all = append(all, fmt.Sprintf("%s needs %s, not granted to its namespace", r, named(refused)))
		}
	}
	slices.Sort(all)
	what := ""
	if unread > 0 {
		what = fmt.Sprintf(" (%s not looked at yet)", terminal.Counted(unread, "other workflow"))
	}
	if len(all) == 0 {
		return doctor.Finding{Code: doctor.CodeSecrets, Level: doctor.OK, What: "the latest versions of the deployed workflows have their secrets here" + what}
	}
	return doctor.Finding{
		Code: doctor.CodeSecrets, Level: doctor.Warning, What: "deployed workflows lack secrets: " + doctor.Listed(all) + what,
		Fix: "give a value by --secrets, or as SWRUN_SECRET_<NAME>, unless another worker has it; grant a secret in $namespaces of the file of --secrets",
	}
}

// named names a few of many secrets.
func named(secrets []string) string {
	const most = 5
	what := "the secret "
	if len(secrets) > 1 {
		what = "the secrets "
	}
	text := what + strings.Join(secrets[:min(len(secrets), most)], ", ")
	if more := len(secrets) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
