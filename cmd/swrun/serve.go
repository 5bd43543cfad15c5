package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/runtime/definition"
)

func (p *program) serveCommand() *cobra.Command {
	f := &workerFlags{}
	cmd := &cobra.Command{
		Use: "serve [FOLDER...]", Short: "Deploy the documents of folders, and run the runs of a store",
		Example: "  swrun serve workflows/ --store redis://localhost:6379",
		RunE: verb(func(folders []string) error {
			if err := f.logTo(p); err != nil {
				return err
			}
			all, err := p.readFolders(folders)
			if err != nil {
				return err
			}
			return p.operate(&f.operateFlags, func(ctx context.Context, o *operation) error {
				if err := o.deploy(ctx, all); err != nil {
					return err
				}
				return o.work(ctx, f)
			})
		}),
	}
	f.add(cmd)
	f.makes = true
	f.options(cmd)
	return cmd
}

// readFolders reads every workflow document in some folders.
func (p *program) readFolders(folders []string) ([]*swrun.Document, error) {
	var files []string
	for _, folder := range folders {
		if isFile(folder) {
			return nil, usagef("serve takes folders: swrun serve "+terminal.ShellWord(filepath.Dir(folder)), "%s is a file", folder)
		}
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, fileError("the folder cannot be read", err)
		}
		for _, entry := range entries {
			file := filepath.Join(folder, entry.Name())
			extension := strings.ToLower(filepath.Ext(file))
			if entry.IsDir() || extension != ".yaml" && extension != ".yml" && extension != ".json" || foreign(file) {
				continue
			}
			files = append(files, file)
		}
	}
	return p.readDocuments(files)
}

// foreign reports whether a file is certainly something else than a workflow document: what cannot be read as YAML may
// be a document with a mistake, which is reported.
func foreign(file string) bool {
	if !isFile(file) {
		_, err := os.Stat(file)
		return err == nil // what cannot be looked at is reported when it is deployed
	}
	text, err := readWhole("the document", file, dsl.ReadText)
	if err != nil {
		return false
	}
	if _, ok := definition.Title(text); ok {
		return false
	}
	w, _ := dsl.Parse(file, text)
	return w.Source.Data("") != nil
}

// isFile reports whether something in a folder is a file that can be read, and no pipe or device, which may never end.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
