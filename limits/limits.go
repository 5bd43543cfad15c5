// Package limits is the one table of how large things may become: what a run reads, holds and starts. Each limit has
// a name, which stands in its errors and with which an operator sets it.
package limits

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/swrun/swrun/errors"
)

// Name names a limit.
type Name string

// The limits.
const (
	Input         Name = "input"
	Data          Name = "data"
	Event         Name = "event"
	State         Name = "state"
	HistoryBytes  Name = "historyBytes"
	History       Name = "history"
	Continuations Name = "continuations"
	Items         Name = "items"
	Branches      Name = "branches"
	Tasks         Name = "tasks"
	Children      Name = "children"
	Labels        Name = "labels"
	LabelName     Name = "labelName"
	LabelValue    Name = "labelValue"
	BusinessKey   Name = "businessKey"
	ID            Name = "id"
	Namespace     Name = "namespace"
	Reason        Name = "reason"
	Actor         Name = "actor"
	Progress      Name = "progress"
	Calls         Name = "calls"
	Starts        Name = "starts"
	Workflows     Name = "workflows"
	Stdout        Name = "stdout"
	Stderr        Name = "stderr"
	Response      Name = "response"
	Redirects     Name = "redirects"
	Family        Name = "family"
	EventFamily   Name = "eventFamily"
	VirtualTasks  Name = "virtualTasks"
	VirtualYears  Name = "virtualYears"
	Waiting       Name = "waiting"
)

// Limit is a row of the table.
type Limit struct {
	Name    Name
	Default int
	Unit    string // bytes, or what is counted
	About   string // what is bounded, and what happens above it
	Fixed   bool   // it cannot be set: others rely on it

	// Failure makes its errors, which have the type of what fails where the specification names one.
	Failure func(format string, args ...any) *errors.Error
}

const bytes = "bytes"

// All returns the table.
func All() (all []Limit) {
	for _, n := range []Name{
		Input, Data, Event, State, HistoryBytes, History, Items, Branches, Tasks,
		Children, Continuations, Family, EventFamily, Waiting, VirtualTasks, VirtualYears, Labels, LabelName, LabelValue, BusinessKey, ID, Namespace, Reason, Actor, Progress,
		Calls, Starts, Workflows, Stdout, Stderr, Response, Redirects,
	} {
		all = append(all, find(n))
	}
	return all
}

// find returns a row of the table; an empty one if there is none. It is called in each step, so that it allocates nothing but the row.
func find(n Name) Limit {
	switch n {
	case Input:
		return Limit{n, 4 << 20, bytes, "the input of a run, and of a child: the start is refused, or the task of the child fails", false, errors.Limitf}
	case Data:
		return Limit{n, 16 << 20, bytes, "the result of an effect, and the results of all branches of a fork together: the task fails", false, errors.Limitf}
	case Event:
		return Limit{n, 1 << 20, bytes, "an event: the task that emits it fails, and an event from elsewhere is refused", false, errors.Limitf}
	case State:
		return Limit{n, 32 << 20, bytes, "the state of a run in a store: the run ends", false, errors.Limitf}
	case HistoryBytes:
		return Limit{n, 10 << 20, bytes, "the history of a run in a store: the run ends", false, errors.Limitf}
	case History:
		return Limit{n, 20_000, "records", "the history of a run in a store: the run ends", false, errors.Limitf}
	case Items:
		return Limit{n, 100_000, "items", "the list of a for: the task fails", false, errors.Limitf}
	case Branches:
		return Limit{n, 1000, "branches", "a fork: the task fails", false, errors.Limitf}
	case Tasks:
		return Limit{n, 10_000, "tasks", "tasks that are in progress at a time, in forks inside of forks too: the fork fails", false, errors.Limitf}
	case Children:
		return Limit{n, 1000, "runs", "children that a run waits for at a time, and children without a wait that end with it: the task fails", false, errors.Limitf}
	case Family:
		return Limit{n, 20_000, "runs", "the runs that one run leads to within a day, its children's children too: the run that asks for more ends", false, errors.Limitf}
	case EventFamily:
		return Limit{n, 100_000, "runs", "the runs that start within a day because of the events of one run, and their own events: the run that asks for more ends, and a schedule starts no more", false, errors.Limitf}
	case Waiting:
		return Limit{n, 10_000, "messages", "waiting messages of a run in a store: an event does not reach the run, and the publisher receives its id", false, errors.Limitf}
	case Progress:
		return Limit{n, 64 << 10, bytes, "the progress in a heartbeat of an activity: the heartbeat is refused", true, errors.Limitf}
	case VirtualTasks:
		return Limit{n, 2_000_000, "tasks", "tasks that a run on virtual time starts, its children's too: the run ends", false, errors.Limitf}
	}
	return fixed(n)
}

// fixed returns a row of those that cannot be set.
func fixed(n Name) Limit {
	switch n {
	case Continuations:
		return Limit{n, 100, "runs", "runs of an execution that follow one another without having waited for anything: the task that continues as new fails", true, errors.Limitf}
	case Labels:
		return Limit{n, 64, "labels", "the labels of a run: the start is refused", true, errors.Limitf}
	case LabelName:
		return Limit{n, 63, bytes, "the name of a label: the start is refused", true, errors.Limitf}
	case LabelValue:
		return Limit{n, 256, bytes, "the value of a label: the start is refused", true, errors.Limitf}
	case BusinessKey:
		return Limit{n, 256, bytes, "the business key of a run: the start is refused", true, errors.Limitf}
	case ID:
		return Limit{n, 128, bytes, "the id of a run: the start is refused", true, errors.Limitf}
	case Namespace:
		return Limit{n, 63, bytes, "a namespace: the start is refused", true, errors.Limitf}
	case Reason:
		return Limit{n, 1024, bytes, "the reason of a command to a run, or of a decision about a task queue: it is refused", true, errors.Limitf}
	case Actor:
		return Limit{n, 256, bytes, "the name of the actor of a command: the command is refused", true, errors.Limitf}
	case VirtualYears:
		return Limit{n, 250, "years", "virtual time that a run takes: the run ends", true, errors.Limitf}
	case Calls:
		return Limit{n, 64, "calls", "function calls inside of each other: the call fails", true, errors.Limitf}
	case Starts:
		return Limit{n, 64, "runs", "a chain of runs that start one another: the task fails", true, errors.Limitf}
	case Workflows:
		return Limit{n, 10_000, "runs", "runs in progress at a time of `swrun run` without `--id`: the run ends", true, errors.Limitf}
	case Stdout:
		return Limit{n, 1 << 20, bytes, "the output of a command or script: it is killed, and the task fails", true, errors.Limitf}
	case Stderr:
		return Limit{n, 1 << 20, bytes, "the error output of a command or script: it is killed, and the task fails", true, errors.Limitf}
	case Response:
		return Limit{n, 10 << 20, bytes, "the body of an HTTP response, decompressed, a message of a broker, and all of a stream: the task fails", true, errors.Limitf}
	case Redirects:
		return Limit{n, 3, "redirects", "redirects of one HTTP call: the task fails", true, errors.Communicationf}
	}
	return Limit{}
}

// Set is what an operator has set; a limit that is not in it has its default. It is read-only once it is in use.
type Set map[Name]int

// Max returns the highest value that is allowed.
func (s Set) Max(n Name) int {
	if v, ok := s[n]; ok {
		return v
	}
	return find(n).Default
}

// Check returns the error of a value above its limit, and nil for any other.
func (s Set) Check(n Name, value int) *errors.Error {
	maximum := s.Max(n)
	if value <= maximum {
		return nil
	}
	return exceeded(find(n), value, maximum)
}

// CheckText returns the error of text for people that is longer than its limit, or not text for one line; nil for any other. No text is
// fine too.
func (s Set) CheckText(n Name, text string) error {
	if err := s.Check(n, len(text)); err != nil {
		return err
	}
	if text != "" && strings.TrimSpace(text) == "" {
		return errors.New("must not be blank")
	}
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return fmt.Errorf("must be text without control characters, got %q", text)
	}
	return nil
}

// Exceeded is the error of something that is larger than its limit, if its size is not known: its value is the
// first that is too large, so that it is the same however fast the rest came.
func Exceeded(n Name) *errors.Error {
	l := find(n)
	return exceeded(l, l.Default+1, l.Default)
}

func exceeded(l Limit, value, maximum int) *errors.Error {
	what, _, _ := strings.Cut(l.About, ": ")
	are := "are"
	if maximum == 1 {
		are = "is"
	}
	err := l.Failure("%s: %s, and at most %s %s allowed (limit %s)", what, amount(value, l.Unit), amount(maximum, l.Unit), are, l.Name)
	if value == maximum+1 && l.Unit == bytes { // rounded, both are the same
		err.Detail = fmt.Sprintf("%s: more than the %s that are allowed (limit %s)", what, amount(maximum, l.Unit), l.Name)
	}
	return Annotate(err, string(l.Name), value, maximum)
}

// Annotate returns err with the members that each error of a limit has: which limit, what was found, and what is allowed.
func Annotate(err *errors.Error, limit string, value, maximum int) *errors.Error {
	return err.With("limit", limit).With("value", value).With("max", maximum)
}

// Parse adds a setting to s: name=value, where bytes may have a unit, as in input=8MiB.
func (s Set) Parse(text string) error {
	name, value, ok := strings.Cut(text, "=")
	l := find(Name(name))
	switch {
	case !ok:
		return fmt.Errorf("%q is not a limit: it must be name=value, for example input=8MiB", text)
	case l.Name == "":
		return fmt.Errorf("there is no limit %q; there are: %s", name, strings.Join(settable(), ", "))
	case l.Fixed:
		return fmt.Errorf("the limit %s is fixed", name)
	}
	n, err := parseAmount(value, l.Unit)
	if err != nil {
		return fmt.Errorf("the limit %s: %w", name, err)
	}
	s[l.Name] = n
	return nil
}

func settable() (names []string) {
	for _, l := range All() {
		if !l.Fixed {
			names = append(names, string(l.Name))
		}
	}
	return names
}

func parseAmount(text, unit string) (int, error) {
	factor, digits := 1, strings.TrimSpace(text)
	if unit == bytes {
		for i, suffix := range []string{"KiB", "MiB", "GiB"} {
			if rest, ok := strings.CutSuffix(digits, suffix); ok {
				factor, digits = 1<<(10*(i+1)), strings.TrimSpace(rest)
			}
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > math.MaxInt32*64/factor {
		return 0, fmt.Errorf("%q is not a number of %s from 1 on", text, unit)
	}
	return n * factor, nil
}

// Bytes writes a number of bytes as errors of limits do.
func Bytes(n int) string { return amount(n, bytes) }

// amount writes a number with its unit: 4 MiB, 20000 records.
func amount(n int, unit string) string {
	if unit == bytes && n >= 1<<20 {
		return strconv.FormatFloat(math.Round(float64(n)/(1<<20)*10)/10, 'f', -1, 64) + " MiB"
	}
	if n == 1 {
		unit = strings.TrimSuffix(strings.Replace(unit, "branches", "branch", 1), "s")
	}
	return strconv.Itoa(n) + " " + unit
}
