// Command swrun runs, checks, formats and explains workflows of the CNCF Serverless Workflow DSL.
//
// Start with root.go, the list of its verbs; each verb has one file. Standard output contains the requested output and nothing else, standard error
// the rest; exit.go lists the exit codes.
package main

import (
	"io"
	"os"
	"os/signal"
	"os/user"
	"syscall"
	"time"
	_ "time/tzdata" // schedules name time zones, and not every machine knows them

	"golang.org/x/term"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/cmd/swrun/collector"
	"github.com/swrun/swrun/process"
)

func main() {
	os.Exit(start())
}

// start carries out the command line and returns the exit code.
func start() int {
	s := systemStreams()
	s.processes = swrun.Supervise() // in a supervisor it does not return: there may be many supervisors, and each needs little memory
	defer s.processes.Close()
	process.Hide() // the commands of workflows run as the same user, and must not read the secrets of the environment
	collector.Pace()
	return run(os.Args[1:], s)
}

// streams is everything of the process around it that the program uses.
type streams struct {
	in       io.Reader
	out, err io.Writer
	// The terminals among the streams; width returns the width of err's terminal.
	inTTY, outTTY, errTTY bool
	width                 func() int
	height                func() int

	processes *process.Pool // where the commands and scripts of workflows run

	env func(name string) (string, bool)
	now func() time.Time
	// user returns the name of the user who runs the program; empty if the machine does not know it.
	user func() string
	// signals delivers interrupts until its second result is called; from then on they end the process immediately.
	signals func() (<-chan os.Signal, func())
	// hangups delivers signals to read the configuration of the start again; nil if there are no such signals.
	hangups func() (<-chan os.Signal, func())
}

func systemStreams() streams {
	size := func() (width, height int) {
		width, height, err := term.GetSize(int(os.Stderr.Fd()))
		if err != nil || width <= 0 || height <= 0 {
			return 80, 24
		}
		return width, height
	}
	return streams{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		inTTY:  term.IsTerminal(int(os.Stdin.Fd())),
		outTTY: term.IsTerminal(int(os.Stdout.Fd())),
		errTTY: term.IsTerminal(int(os.Stderr.Fd())),
		width:  func() int { w, _ := size(); return w },
		height: func() int { _, h := size(); return h },
		env:    os.LookupEnv, now: time.Now, user: userName, signals: interrupts, hangups: hangups,
	}
}

func userName() string {
	u, err := user.Current()
	if err != nil { // a container may run under a number without a name
		return ""
	}
	return u.Username
}

func interrupts() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	if hasTerminal() && !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(c, syscall.SIGHUP)
	}
	return c, func() { signal.Stop(c) }
}
