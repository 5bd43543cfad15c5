package definition

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/runtime/store"
)

// Deployed is a workflow as it is deployed.
type Deployed struct {
	Namespace, Name string
	Versions        []Version // beginning with the version that `latest` means
}

// Version is a deployed version of a workflow.
type Version struct {
	Version string
	Digest  string // of its definition
	// Deployment is the record of the deployment. AllDeployed omits it, Noted includes it.
	Deployment Deployment
}

// Latest returns the version that `latest` means; empty if none is a version.
func (d *Deployed) Latest() string {
	if len(d.Versions) == 0 || !Later(d.Versions[0].Version, "") {
		return ""
	}
	return d.Versions[0].Version
}

// AllDeployed returns the deployed workflows of a namespace and name, each of which may be empty for any, in their order. Namespaces that ctx does
// not grant are left out.
func AllDeployed(ctx context.Context, c store.Catalog, namespace, name string) ([]Deployed, error) {
	prefix := nameKey
	if namespace != "" {
		prefix += namespace + "/"
	}
	digests, err := c.DefinitionsBy(ctx, prefix)
	if err != nil {
		return nil, err
	}
	all := map[Reference]*Deployed{} // by their names alone
	for key, digest := range digests {
		text, ok := strings.CutPrefix(key, nameKey)
		r, err := ParseReference(text)
		if !ok || err != nil || !GrantedIn(ctx).Has(r.Namespace) || namespace != "" && r.Namespace != namespace || name != "" && r.Name != name {
			continue
		}
		of := Reference{Namespace: r.Namespace, Name: r.Name}
		if all[of] == nil {
			all[of] = &Deployed{Namespace: r.Namespace, Name: r.Name}
		}
		all[of].Versions = append(all[of].Versions, Version{Version: r.Version, Digest: shorten.To(string(digest), maxDigest)})
	}
	var deployed []Deployed
	for _, d := range all {
		slices.SortFunc(d.Versions, func(a, b Version) int { return order(a.Version, b.Version) })
		deployed = append(deployed, *d)
	}
	slices.SortFunc(deployed, func(a, b Deployed) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return deployed, nil
}

// Noted is AllDeployed with the deployer of each version, and the time.
func Noted(ctx context.Context, c Deployments, namespace, name string) ([]Deployed, error) {
	all, err := AllDeployed(ctx, c, namespace, name)
	for _, d := range all {
		for n := range d.Versions {
			v := &d.Versions[n]
			if v.Deployment, err = DeploymentOf(ctx, c, v.Digest); err != nil {
				return nil, err
			}
		}
	}
	return all, err
}

// Undeploy deletes the name and version of a deployed definition, so that no new run can be started by them. Existing runs continue with
// their definition. A namespace that ctx does not grant is a *ForeignError.
func Undeploy(ctx context.Context, c store.Catalog, r Reference) error {
	resolved, digest, err := Resolve(ctx, c, r)
	if err != nil {
		return err
	}
	return c.Undefine(ctx, nameKey+resolved.String(), []byte(digest))
}
