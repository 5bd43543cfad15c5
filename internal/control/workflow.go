package control

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"path/filepath"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/graph"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/filter"
	"github.com/swrun/swrun/runtime/store"
)

// sent returns the document of a sent text. No file of this machine is read for it.
func sent(text []byte) *swrun.Document {
	d, _ := swrun.Parse("", text) // its mistakes are in the diagnostics
	d.NoFiles = true
	return d
}

// sentDefinition returns the document of a sent definition. No resources are read for it.
func sentDefinition(sent api.Definition) *swrun.Document {
	file := sent.File
	if file != "" {
		file = filepath.Base(file)
	}
	d, _ := swrun.Parse(file, []byte(sent.Document)) // its mistakes are in the diagnostics
	d.NoFiles, d.Resources, d.Locations = true, sent.Resources, sent.Locations
	if d.Resources == nil {
		d.Resources = map[string][]byte{}
	}
	return d
}

// Sent returns the document that a caller has sent: its text or, depending on the media type, a definition.
func Sent(mediaType string, body []byte) (*swrun.Document, error) {
	if t, _, err := mime.ParseMediaType(mediaType); err != nil || t != api.DefinitionMediaType {
		return sent(body), nil
	}
	var d api.Definition
	if err := json.Unmarshal(body, &d); err != nil {
		return nil, &client.OptionError{Field: "document", Detail: "is no definition: " + err.Error()}
	}
	return sentDefinition(d), nil
}

// Validate returns the findings in a document. Nothing is read from the network for it.
func (c *Control) Validate(text []byte) api.Findings {
	d := sent(text)
	if d.Err() == nil {
		_ = c.engine.Check(d) // its findings are in the diagnostics
	}
	return api.Findings{Diagnostics: api.Diagnostics(d.Diagnostics)}
}

// Deploy deploys a document, whose name must be r; again is true if the same document was deployed already.
func (c *Control) Deploy(ctx context.Context, r definition.Reference, d *swrun.Document) (w api.DeployedWorkflow, again bool, err error) {
	if err := calledAs(r, d); err != nil {
		return w, false, err
	}
	_, before, err := definition.Resolve(ctx, c.store, r)
	if err != nil && store.RefusedAs(err) != store.NoSuch {
		return w, false, err
	}
	if err := c.engine.Deploy(ctx, d); err != nil {
		return w, false, err
	}
	if w, err = c.Deployed(ctx, r); err == nil {
		w.Diagnostics = api.Diagnostics(d.Diagnostics)
	}
	return w, before == w.Definition, err
}

// CheckRuns returns the effect of a document's deployment on the runs in progress, and changes nothing.
func (c *Control) CheckRuns(ctx context.Context, d *swrun.Document) (api.DeployResult, error) {
	found, err := c.engine.CheckRuns(ctx, d)
	return api.NewDeployResult(found), err
}

// CheckRunsOf is CheckRuns for a document whose name must be r.
func (c *Control) CheckRunsOf(ctx context.Context, r definition.Reference, d *swrun.Document) (api.DeployResult, error) {
	if err := calledAs(r, d); err != nil {
		return api.DeployResult{}, err
	}
	return c.CheckRuns(ctx, d)
}

// calledAs refuses a document with errors, and a document whose name is not r.
func calledAs(r definition.Reference, d *swrun.Document) error {
	if err := d.Err(); err != nil {
		return err
	}
	if d.String() != r.String() {
		return &client.OptionError{Field: "document", Detail: fmt.Sprintf("is %s, and was sent as %s", d, r)}
	}
	return nil
}

// Workflows returns the deployed workflows of a namespace; of all namespaces if it is empty.
func (c *Control) Workflows(ctx context.Context, namespace string) ([]api.Workflow, error) {
	found, err := definition.Noted(ctx, c.store, namespace, "")
	if err != nil {
		return nil, err
	}
	all := []api.Workflow{}
	for _, d := range found {
		all = append(all, api.NewWorkflow(d))
	}
	return all, nil
}

// Deployed returns a deployed version of a workflow; definition.Latest means the latest.
func (c *Control) Deployed(ctx context.Context, r definition.Reference) (api.DeployedWorkflow, error) {
	found, w, err := c.deployed(ctx, r)
	if err != nil {
		return api.DeployedWorkflow{}, err
	}
	versions, err := definition.Versions(ctx, c.store, r)
	if err != nil {
		return api.DeployedWorkflow{}, err
	}
	by, err := definition.DeploymentOf(ctx, c.store, found.digest)
	if err != nil {
		return api.DeployedWorkflow{}, err
	}
	return api.DeployedWorkflow{
		Schema: api.SchemaWorkflow, Namespace: found.Namespace, Name: found.Name, Version: found.Version, Definition: found.digest,
		Title: w.Document.Title, Summary: w.Document.Summary, Latest: len(versions) > 0 && versions[0] == found.Version, Versions: versions,
		Document: w.Source.Data(""), Deployment: api.NewDeployment(by),
	}, nil
}

// WorkflowText returns the text of a deployed workflow, as it was sent.
func (c *Control) WorkflowText(ctx context.Context, r definition.Reference) (string, error) {
	_, w, err := c.deployed(ctx, r)
	if err != nil {
		return "", err
	}
	return string(w.Source.Text), nil
}

// DrawWorkflow returns a drawing of a deployed workflow, in one of the forms of package graph.
func (c *Control) DrawWorkflow(ctx context.Context, r definition.Reference, form string) (string, error) {
	_, w, err := c.deployed(ctx, r)
	if err != nil {
		return "", err
	}
	return graph.Draw(w, form, terminal.Style{}), nil
}

// deployedAs is a reference with its version, and the digest of the deployed definition.
type deployedAs struct {
	definition.Reference
	digest string
}

func (c *Control) deployed(ctx context.Context, r definition.Reference) (deployedAs, *dsl.Workflow, error) {
	resolved, digest, err := definition.Resolve(ctx, c.store, r)
	found := deployedAs{resolved, digest}
	if err != nil {
		return found, nil, err
	}
	d, err := definition.Load(ctx, c.store, digest)
	if err != nil {
		return found, nil, definition.NameUnreadable(resolved, err)
	}
	w, _ := dsl.Parse(d.Name(), []byte(d.Document)) // it was checked at its deployment
	return found, w, nil
}

// notEnded returns the number of runs that prevent the deletion of a version, as text.
func notEnded(runs int) string {
	if runs == 1 {
		return "an open run"
	}
	return fmt.Sprintf("%d open runs", runs)
}

// Undeploy deletes a version of a workflow without runs in progress. A version with such runs is refused as a store.Conflict with their number.
func (c *Control) Undeploy(ctx context.Context, r definition.Reference) error {
	r, _, err := definition.Resolve(ctx, c.store, r) // its runs have the version, even if the request names the latest
	if err != nil {
		return err
	}
	of, err := filter.Equal("workflow", r.String())
	if err != nil {
		return err
	}
	open := 0
	err = c.client.Each(ctx, of, func(run *filter.Run) bool {
		if !run.Lifecycle.Status.Final() {
			open++
		}
		return true
	})
	if err == nil && open > 0 {
		err = &store.Refusal{Code: store.Conflict, Detail: "workflow " + r.String(), Reason: "has " + notEnded(open)}
	}
	if err != nil {
		return err
	}
	return c.engine.Undeploy(ctx, r)
}
