package main

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/doctor"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/client"
)

// served are the documents of the folders of serve. A faulty document does not affect the others.
type served struct {
	*operation
	folders []string
	log     *slog.Logger

	startup  *control.Startup // nil if the documents are deployed before the server starts
	reading  sync.Mutex       // of the folders
	mu       sync.Mutex
	found    int        // documents, at the last reading of the folders
	unserved []unserved // of them
}

// unserved is a document that is not served.
type unserved struct {
	file string
	err  error
}

// onceDeployed calls functions when the documents of the folders are deployed, until ctx ends: the runs and the events that they read may need any of
// these documents.
func (f *serveFlags) onceDeployed(ctx context.Context, functions ...func(context.Context) error) error {
	if f.served != nil {
		if err := f.served.begin(client.WithActor(ctx, f.served.folderActor())); err != nil || ctx.Err() != nil {
			return err
		}
	}
	all, ctx := errgroup.WithContext(ctx)
	for _, do := range functions {
		all.Go(func() error { return do(ctx) })
	}
	return all.Wait()
}

// starts lets a control wait for the documents of the folders.
func (f *serveFlags) starts(c *control.Control) {
	if f.served != nil {
		c.Startup = f.served.startup
	}
}

// begin deploys the documents of the folders for the first time. It returns no error if ctx ends meanwhile.
func (s *served) begin(ctx context.Context) error {
	if s.startup == nil {
		return nil
	}
	err := s.deploy(ctx)
	s.startup.End(err == nil && ctx.Err() == nil)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.Info("the documents of the folders are deployed", "documents", s.found-len(s.unserved), "notServed", len(s.unserved))
	return nil
}

// count notes how many documents are done.
func (s *served) count(done, found int) {
	s.mu.Lock()
	s.found = found
	s.mu.Unlock()
	if s.startup != nil {
		s.startup.Count(done, found)
	}
}

// deploy reads the folders and deploys their documents, until ctx ends. Its error is an error of the store or of a folder.
func (s *served) deploy(ctx context.Context) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	files, err := s.files(ctx)
	if err != nil {
		return err
	}
	s.count(0, len(files))
	documents, wrong := s.read(ctx, files)
	named, faulty := sameNames(documents), len(wrong)
	var deployed []*swrun.Document
	for n, d := range documents {
		if ctx.Err() != nil {
			return nil
		}
		whole, err := s.deployOne(ctx, d, named[d.String()])
		s.count(faulty+n+1, len(files))
		if err == nil {
			s.tellDeployed(ctx, d)
			deployed = append(deployed, whole...)
			continue
		}
		why := ofDocument(d, err)
		if why == nil {
			return err
		}
		wrong = append(wrong, unserved{d.File, why})
	}
	s.tell(wrong)
	return s.tellMissingChildren(ctx, deployed)
}

// read reads documents, until ctx ends. Its second result contains the faulty ones.
func (s *served) read(ctx context.Context, files []string) (documents []*swrun.Document, wrong []unserved) {
	for _, file := range files {
		if ctx.Err() != nil {
			break
		}
		d, err := loadDocument(s.streams, file)
		if err == nil {
			err = refused(d)
		}
		if err != nil {
			wrong = append(wrong, unserved{file, err})
		} else {
			documents = append(documents, d)
		}
	}
	return documents, wrong
}

// deployOne deploys one of the documents with the same name and version, and returns it with its resources.
func (s *served) deployOne(ctx context.Context, d *swrun.Document, same []*swrun.Document) ([]*swrun.Document, error) {
	if err := ambiguous(d, same); err != nil {
		return nil, err
	}
	whole, err := s.wholeToDeploy(ctx, []*swrun.Document{d})
	if err != nil {
		return nil, err
	}
	return whole, s.operation.deployment.DeployAll(ctx, whole...)
}

// files returns the documents of the folders, and reports documents in folders below them.
func (s *served) files(ctx context.Context) (all []string, err error) {
	for _, folder := range s.folders {
		files, err := s.filesOf(ctx, folder)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
		if below := foldersBelow(folder); len(below) > 0 {
			s.log.Warn("documents in folders of a folder are not served", "folder", folder, "fix", "name them: swrun serve "+strings.Join(below, " "))
		}
	}
	return all, nil
}

// maxBelow is the maximum number of files and folders that are searched for documents that are not served.
const maxBelow = 2000

// foldersBelow returns the folders below a folder that contain workflow documents. Hidden folders are left out.
func foldersBelow(folder string) (found []string) {
	looked := 0
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error { // unreadable folders are not served either
		if looked++; err != nil || looked > maxBelow {
			return filepath.SkipAll
		}
		in := filepath.Dir(path)
		switch {
		case entry.IsDir():
			if path != folder && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules") {
				return filepath.SkipDir
			}
		case in != filepath.Clean(folder) && !slices.Contains(found, in) && namedAsDocument(path) && !foreign(path):
			found = append(found, in)
		}
		return nil
	})
	return found
}

// sameNames returns the documents by their name and version.
func sameNames(all []*swrun.Document) map[string][]*swrun.Document {
	named := map[string][]*swrun.Document{}
	for _, d := range all {
		named[d.String()] = append(named[d.String()], d)
	}
	return named
}

// ambiguous returns an error if one of several documents has the name and version of another.
func ambiguous(d *swrun.Document, all []*swrun.Document) error {
	for _, other := range all {
		if err := swrun.Distinct(other, d); err != nil {
			return err
		}
	}
	return nil
}

// ofDocument returns the part of an error that is about a document; nil if it is about the store.
func ofDocument(d *swrun.Document, err error) error {
	if invalid := invalidated(d, err); invalid != nil {
		return invalid
	}
	if other := new(swrun.DeployedError); errors.As(err, &other) {
		return &exitError{code: exitConflict, message: "another document is deployed as " + other.Workflow, hint: "change document.version in " + d.File}
	}
	if errors.As(err, new(*swrun.DuplicateError)) {
		return duplicateFailure(err)
	}
	if api.IsTooLarge(err) { // there may be room for other documents
		return &exitError{code: exitConflict, message: err.Error(), hint: "swrun schedule ls lists the schedules, and swrun workflows rm removes a workflow with its schedule"}
	}
	return nil
}

// shortly returns the first line of the error of a document.
func shortly(err error) string {
	text := err.Error()
	if invalid := new(invalidError); errors.As(err, &invalid) && len(invalid.document.Diagnostics.Errors()) > 0 {
		text = invalid.document.Diagnostics.Errors()[0].Message
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// tellDeployed logs a deployed document, and whether it starts automatically.
func (s *served) tellDeployed(ctx context.Context, d *swrun.Document) {
	about := []any{"workflow", d.String(), "file", d.File}
	if d.Workflow.Schedule != nil {
		is := "a later version has its schedule"
		x, err := s.operation.schedule(ctx, api.WorkflowPath{Namespace: d.Workflow.Document.Namespace, Name: d.Workflow.Document.Name})
		switch {
		case err == nil && x.Version == d.Workflow.Document.Version:
			is = fmt.Sprintf("%s, next: %s", x.Kind, scheduleNext(x))
		case err != nil && !api.IsNotFound(err):
			is = "it cannot be read now"
		}
		about = append(about, "schedule", is)
	}
	if advice := secretsAdvice(s.secrets, d); len(advice) > 0 {
		about = append(about, "secrets", strings.Join(advice, "; "))
	}
	s.log.Info("a document is deployed", about...)
}

// tell logs the documents that are not served, and keeps them for the health of the deployment.
func (s *served) tell(wrong []unserved) {
	for _, w := range wrong {
		s.log.Warn("a document is not served", "file", w.file, "error", shortly(w.err))
		(&failures{program: s.program}).add(w.err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unserved = wrong
}

// findings returns the findings about the documents for health.
func (s *served) findings() []doctor.Finding {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.startup.Err(); err != nil {
		return []doctor.Finding{{
			Code: doctor.CodeDocuments, Level: doctor.Warning, What: err.Error(),
			Fix: "wait until they are deployed: this server performs no runs before",
		}}
	}
	if len(s.unserved) == 0 {
		return []doctor.Finding{{Code: doctor.CodeDocuments, Level: doctor.OK, What: "every document of the folders is served"}}
	}
	var all []string
	for _, w := range s.unserved {
		all = append(all, w.file+": "+shortly(w.err))
	}
	return []doctor.Finding{{
		Code: doctor.CodeDocuments, Level: doctor.Warning, What: "documents are not served: " + strings.Join(all, "; "),
		Fix: "correct them, and send SIGHUP to swrun serve; swrun validate shows the errors",
	}}
}

// preflight reports the documents in some folders that could not be served here, and opens no store: faulty and duplicate documents, and secrets
// without a value.
func (p *program) preflight(folders []string) error {
	if len(folders) == 0 {
		return usagef("for example swrun serve workflows/ --check", "--check needs the folders whose documents would be served")
	}
	all, err := p.readFolders(folders)
	if err == nil {
		err = duplicateFailure(swrun.Distinct(all...))
	}
	if err != nil {
		return err
	}
	wanting := 0
	for _, d := range all {
		for _, advice := range secretsAdvice(p.secrets, d) {
			wanting++
			fmt.Fprintln(p.out, p.outStyle().Text(d.File+": "+advice))
		}
	}
	if wanting > 0 {
		return quietExit(exitFindings)
	}
	return write(p.out, "nothing is wrong with "+terminal.Counted(len(all), "document")+"\n")
}

// letExamine adds the secrets and the documents of the folders to the health of a server.
func (o *operation) letExamine(c *control.Control, f *serveFlags) {
	c.Secrets = o.secrets
	if f.served != nil {
		c.AlsoExamine = f.served.findings
	}
}
