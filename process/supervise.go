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

// Supervise serves jobs from in until it ends, and then ends what it runs and returns. It is the main of a process of its own
// that does nothing else: whatever is below that process counts as the job's.
func Supervise(in io.Reader, out io.Writer) error {
	goruntime.LockOSThread() // the kernel tells children of the end of the thread that started them
	debug.SetGCPercent(50)   // many supervisors live together
	// What asks a whole group of processes to end, such as a service manager, does not mean the supervisor: its parent
	// decides. Unlike ignored signals, these are as usual again for what the supervisor starts.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	if err := adoptOrphans(); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	jobs, gone := receive(in)
	encoder := gob.NewEncoder(out)
	for j := range jobs {
		r := serve(j, gone)
		if err := encoder.Encode(r); err != nil || r.Spent {
			return err
		}
	}
	return nil
}

// receive passes jobs on, and tells when there will be no other: then the parent is gone, or wants the end.
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
				os.Exit(0) // the engine may be deep in a function that heeds nothing
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

// unpack writes files into a folder of their own, where the job keeps what is temporary; it is empty if there are none.
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
