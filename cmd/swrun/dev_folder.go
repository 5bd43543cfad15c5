package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/definition"
)

// drafts deploys the documents of a folder while they are being written.
type drafts struct {
	*operation
	folder string
	// seen is the checksum of the text of each file at the last look, and of the file that already declares its document.
	seen map[string][sha256.Size]byte
	// missing is true if the folder could not be read at the last look.
	missing bool
}

const (
	// settleFor is the time without changes before a folder is read: editors save in several steps.
	settleFor = 100 * time.Millisecond
	// missingFor is the interval at which a missing folder is looked for.
	missingFor = time.Second
)

// watch deploys the documents in the folder, and again each document that is saved there, until ctx ends. A removed folder may be created again.
func (d *drafts) watch(ctx context.Context) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch the folder: %w", err)
	}
	defer w.Close()
	settled := time.NewTimer(0)
	defer settled.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-settled.C:
			files, err := d.files(ctx, w)
			if err != nil {
				settled.Reset(missingFor)
				continue
			}
			if err := d.look(ctx, files); err != nil {
				return err
			}
		case event, ok := <-w.Events:
			if ok && d.concerns(event) {
				settled.Reset(settleFor)
			}
		case err := <-w.Errors:
			d.flags.log.Warn("changes in the folder are not noticed any more", "folder", d.folder, "error", err)
		}
	}
}

// concerns reports whether an event in the folder is about a document, or about the folder itself.
func (d *drafts) concerns(event fsnotify.Event) bool {
	return namedAsDocument(event.Name) || filepath.Clean(event.Name) == filepath.Clean(d.folder)
}

// files returns the documents of the folder, and starts to watch the folder. It reports an unreadable folder once.
func (d *drafts) files(ctx context.Context, w *fsnotify.Watcher) ([]string, error) {
	if d.missing {
		_ = w.Remove(d.folder) // another folder of that name is not the watched one
	}
	err := w.Add(d.folder)
	if err != nil {
		err = fileError("the folder cannot be watched", err)
	}
	var files []string
	if err == nil {
		files, err = workflowFiles(ctx, d.folder)
	}
	if err != nil && !d.missing {
		d.complain(err)
	}
	d.missing = err != nil
	return files, err
}

// look deploys the documents of the folder that have changed. It prints the mistakes in a document, which do not affect other documents.
func (d *drafts) look(ctx context.Context, files []string) error {
	now, owners := map[string][sha256.Size]byte{}, map[string]string{}
	var changed []*swrun.Document
	for _, file := range files {
		name, text, err := readDocument(d.streams, file)
		if err != nil {
			d.complain(err)
			continue
		}
		document := parseText(name, text)
		owner := owners[document.String()]
		now[file] = sha256.Sum256(append([]byte(owner), text...))
		switch {
		case d.seen[file] == now[file]:
		case owner != "" && document.Err() == nil:
			d.complain(&exitError{code: exitConflict, message: fmt.Sprintf("%s is not deployed: %s already declares %s", file, owner, document), hint: "change document.name or document.version in one of them"})
		default:
			deployed, err := d.deployDraft(ctx, document, text)
			if err != nil {
				return err
			}
			if deployed {
				changed = append(changed, document)
			}
		}
		owners[document.String()] = cmp.Or(owner, file)
	}
	d.tellGone(files)
	d.seen = now
	return d.warnOfChildren(ctx, ofDocuments(changed), "save or deploy the missing workflows before those tasks begin, or they fail; a document 1.0.0 of this folder is deployed as 1.0.0-dev.1: version: latest takes its last version")
}

// tellGone prints the files that are gone, and at the start that the folder contains no document.
func (d *drafts) tellGone(files []string) {
	if d.seen == nil && len(files) == 0 {
		fmt.Fprintf(d.err, "there is no document in %s yet\n", d.folder)
	}
	if d.seen == nil {
		for _, below := range foldersBelow(d.folder) {
			fmt.Fprintf(d.err, "%s has documents that are not deployed: dev reads the folder itself, and none below it\n", terminal.Printable(below))
		}
	}
	for _, file := range slices.Sorted(maps.Keys(d.seen)) {
		if !slices.Contains(files, file) {
			fmt.Fprintf(d.out, "%s is removed; its deployed versions stay\n", file)
		}
	}
}

// complain prints the mistakes in one document.
func (d *drafts) complain(err error) { (&failures{program: d.program}).add(err) }

// deployDraft deploys a document as the next development version, unless the last one is the same. Its error is an error of the store.
func (d *drafts) deployDraft(ctx context.Context, document *swrun.Document, text []byte) (deployed bool, err error) {
	if err := refused(document); err != nil {
		d.complain(err)
		return false, nil
	}
	title, at := document.Workflow.Document, document.Workflow.Source.Value("/document/version")
	reference := definition.Reference{Namespace: title.Namespace, Name: title.Name}
	versions, err := definition.Versions(ctx, d.store, reference)
	if err != nil {
		return false, err
	}
	base := draftBase(title.Version)
	draft := func(n int) (version string, draft []byte) {
		version = base + strconv.Itoa(n)
		return version, slices.Concat(text[:at.Start.Offset], []byte(version), text[at.End.Offset:])
	}
	last := lastDraft(versions, base)
	version, same := draft(last)
	reference.Version = version
	if deployed, err := d.control.WorkflowText(ctx, reference); err == nil && deployed == string(same) {
		_, err = fmt.Fprintf(d.out, "%s is deployed\n", reference)
		return true, err
	}
	_, text = draft(last + 1)
	drafted := parseText(document.File, text)
	whole, err := d.withResources([]*swrun.Document{drafted})
	if err == nil {
		drafted, document.Resources, document.Locations = whole[0], whole[0].Resources, whole[0].Locations
		err = d.engine.Deploy(ctx, drafted)
	}
	return d.tellDraft(drafted, err)
}

// tellDraft prints that a document is deployed, or its mistakes. Its error is an error of the store.
func (d *drafts) tellDraft(document *swrun.Document, err error) (deployed bool, _ error) {
	switch invalid := invalidated(document, err); {
	case invalid != nil:
		d.complain(invalid)
		return false, nil
	case errors.As(err, new(*swrun.DeployedError)): // another process was faster
		d.complain(&exitError{code: exitConflict, message: err.Error(), hint: "save it again"})
		return false, nil
	case err != nil:
		return false, err
	}
	_, err = fmt.Fprintf(d.out, "%s deployed\n", document)
	return true, err
}

// draftBase returns the beginning of the development versions of a version: 1.0.0-dev. for 1.0.0, and 1.0.0-rc.1.dev. for 1.0.0-rc.1.
func draftBase(version string) string {
	version, _, _ = strings.Cut(version, "+")
	if strings.Contains(version, "-") {
		return version + ".dev."
	}
	return version + "-dev."
}

// lastDraft returns the highest number of a development version; 0 if there is no such version.
func lastDraft(versions []string, base string) (last int) {
	for _, v := range versions {
		if n, err := strconv.Atoi(strings.TrimPrefix(v, base)); err == nil && strings.HasPrefix(v, base) {
			last = max(last, n)
		}
	}
	return last
}
