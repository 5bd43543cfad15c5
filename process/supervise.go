package process

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"strings"
	"syscall"
)

// Supervise serves jobs from in until in ends, then ends the job that runs, and returns. It must be the main function of a
// process that does nothing else: every process below that process counts as the job's.
func Supervise(in io.Reader, out io.Writer) error {
	goruntime.LockOSThread() // Pdeathsig of a child is sent when the thread ends that started it
	debug.SetGCPercent(50)   // there may be many supervisors
	Hide()                   // a job gets secrets through here, and the next job runs below it
	// Signals to a whole group of processes, from a service manager for example, must not end the supervisor: its parent
	// decides. They are caught and not ignored, because ignored signals would stay ignored in what the supervisor starts.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	if err := adoptOrphans(); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	jobs, gone := receive(in)
	encoder := gob.NewEncoder(out)
	for j := range jobs {
		r := serve(j, gone)
		if err := encoder.Encode(r); err != nil || r.Exiting {
			return err
		}
	}
	return nil
}

// receive returns a channel of the jobs, and one that is closed when no more will come: the parent is gone, or has told this
// process to end.
func receive(in io.Reader) (<-chan Job, <-chan struct{}) {
	jobs, gone := make(chan Job), make(chan struct{})
	go func() {
		defer close(jobs)
		defer close(gone)
		for decoder := gob.NewDecoder(in); ; {
			var j Job
			if err := decoder.Decode(&j); err != nil {
				return
			}
			jobs <- j
		}
	}()
	return jobs, gone
}

func serve(j Job, gone <-chan struct{}) reply {
	if j.Script != nil {
		served := make(chan struct{})
		defer close(served)
		go func() {
			select {
			case <-gone:
				os.Exit(0) // the engine may be in a function that cannot be interrupted
			case <-served:
			}
		}()
		return serveScript(j)
	}
	folder, err := unpack(j.Files, j.Environment)
	if err != nil {
		return reply{Start: &StartError{err.Error()}}
	}
	if folder != "" {
		defer os.RemoveAll(folder)
		for i, argument := range j.Arguments {
			j.Arguments[i] = strings.ReplaceAll(argument, Folder, folder)
		}
	}
	return serveCommand(j, gone)
}

// unpack writes files into a new folder, below the job's TMPDIR if that is set. folder is empty if there are no files.
func unpack(files map[string]string, environment []string) (folder string, err error) {
	if len(files) == 0 {
		return "", nil
	}
	temporary := ""
	for _, variable := range environment {
		if folder, ok := strings.CutPrefix(variable, "TMPDIR="); ok {
			temporary = folder
		}
	}
	if folder, err = os.MkdirTemp(temporary, "swrun-script-"); err != nil {
		return "", err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return "", errors.Join(err, os.RemoveAll(folder))
		}
	}
	return folder, nil
}
