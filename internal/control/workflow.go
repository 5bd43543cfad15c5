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

// sent returns the document of a text that was sent: no file of this machine is read for it.
func sent(text []byte) *swrun.Document {
	d, _ := swrun.Parse("", text) // what is wrong with it is among its diagnostics
	d.NoFiles = true
	return d
}

// sentDefinition returns the document of a definition that was sent: nothing at all is read for it.
func sentDefinition(sent api.Definition) *swrun.Document {
	file := sent.File
	if file != "" {
		file = filepath.Base(file)
	}
	d, _ := swrun.Parse(file, []byte(sent.Document)) // as above
	d.NoFiles, d.Resources, d.Locations = true, sent.Resources, sent.Locations
	if d.Resources == nil {
		d.Resources = map[string][]byte{}
	}
	return d
}

// Sent returns the document that a caller has sent: its text or, if the media type says so, a definition.
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

// Validate returns what is found in a document. Nothing is read from the network for it.
func (c *Control) Validate(text []byte) api.Findings {
	d := sent(text)
	if d.Err() == nil {
		_ = c.engine.Check(d) // what it finds is among the diagnostics
	}
	return api.Findings{Diagnostics: api.Diagnostics(d.Diagnostics)}
}

// Deploy deploys a document, which must be called as r says; again says that the same document was deployed already.
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

// DeployAll deploys documents of this process, with the external resources that they need, all of them or none.
func (c *Control) DeployAll(ctx context.Context, all ...*swrun.Document) error {
	return c.engine.Deploy(ctx, all...)
}

// CheckRuns says what becomes of the runs in progress if a document is deployed, and changes nothing.
func (c *Control) CheckRuns(ctx context.Context, d *swrun.Document) (api.DeployResult, error) {
	found, err := c.engine.CheckRuns(ctx, d)
	return api.NewDeployResult(found), err
}

// CheckRunsOf is CheckRuns for a document that must be called as r says.
func (c *Control) CheckRunsOf(ctx context.Context, r definition.Reference, d *swrun.Document) (api.DeployResult, error) {
	if err := calledAs(r, d); err != nil {
		return api.DeployResult{}, err
	}
	return c.CheckRuns(ctx, d)
}

// calledAs refuses a document with errors, and one that is not called as r says.
func calledAs(r definition.Reference, d *swrun.Document) error {
	if err := d.Err(); err != nil {
		return err
	}
	if d.String() != r.String() {
		return &client.OptionError{Field: "document", Detail: fmt.Sprintf("is %s, and was sent as %s", d, r)}
	}
	return nil
}

// Workflows returns the deployed workflows of a namespace, or of all if it is empty.
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

// Workflow returns a deployed workflow; one that is not deployed is refused as store.NoSuch.
func (c *Control) Workflow(ctx context.Context, namespace, name string) (api.Workflow, error) {
	found, err := definition.Noted(ctx, c.store, namespace, name)
	if err != nil {
		return api.Workflow{}, err
	}
	if len(found) == 0 || namespace == "" || name == "" {
		return api.Workflow{}, &store.Refusal{Code: store.NoSuch, Detail: fmt.Sprintf("workflow %s/%s", namespace, name)}
	}
	return api.NewWorkflow(found[0]), nil
}

// Deployed returns a version of a workflow as it is deployed; definition.Latest stands for the latest.
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

// WorkflowText returns the text of a workflow that is deployed, as it was sent.
func (c *Control) WorkflowText(ctx context.Context, r definition.Reference) (string, error) {
	_, w, err := c.deployed(ctx, r)
	if err != nil {
		return "", err
	}
	return string(w.Source.Text), nil
}

// DrawWorkflow returns a drawing of a workflow that is deployed, in one of the forms of package graph.
func (c *Control) DrawWorkflow(ctx context.Context, r definition.Reference, form string) (string, error) {
	_, w, err := c.deployed(ctx, r)
	if err != nil {
		return "", err
	}
	return graph.Draw(w, form, terminal.Style{}), nil
}

// deployedAs is a reference with its version, and the digest of what is deployed under it.
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
	w, _ := dsl.Parse(d.Name(), []byte(d.Document)) // it was checked when it was deployed
	return found, w, nil
}

// notEnded says how many runs of a version keep it from being deleted.
func notEnded(runs int) string {
	if runs == 1 {
		return "a run that has not ended"
	}
	return fmt.Sprintf("%d runs that have not ended", runs)
}

// Undeploy deletes a version of a workflow of which no run is in progress. A version with such runs is refused as a store.Conflict that says how
// many there are.
func (c *Control) Undeploy(ctx context.Context, r definition.Reference) error {
	r, _, err := definition.Resolve(ctx, c.store, r) // its runs have the version, also if it is asked for as latest
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
