// Package cron computes the times of cron expressions with five fields, in a time zone. The grammar is the grammar of netresearch/go-cron. The
// behaviour at changes of the clocks is defined here.
package cron

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/netresearch/go-cron"
)

// Expression is a cron expression. The zero value never happens.
type Expression struct {
	fields *cron.SpecSchedule // of times on the clock: its zone is UTC, whose clocks never change
	zone   *time.Location
}

// Parse parses an expression: minute, hour, day of the month, month and day of the week; or a name such as @daily. The prefix CRON_TZ=ZONE specifies
// a time zone; the default is zone.
//
// If both days are limited, either suffices, as in cron. L, 15W and FRI#2 are supported. An expression that never happens is an error.
func Parse(text string, zone *time.Location) (Expression, error) {
	if err := checkShape(text); err != nil {
		return Expression{}, err
	}
	parsed, err := parser().Parse(text)
	var number *strconv.NumError
	if errors.As(err, &number) {
		err = fmt.Errorf("%q stands where a number, a name such as MON, or * is expected", number.Num)
	}
	if err != nil {
		return Expression{}, err
	}
	fields, ok := parsed.(*cron.SpecSchedule)
	if !ok { // only @every has another type
		return Expression{}, errors.New("@every is not for cron: a schedule has `every`, with a duration")
	}
	if fields.Location != time.Local { // the expression names a zone
		zone = fields.Location
	}
	walls := *fields
	walls.Location = time.UTC
	if walls.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Expression{}, errors.New("no date is like that")
	}
	return Expression{fields: &walls, zone: zone}, nil
}

// checkShape reports mistakes that the parser accepts, or reports in unclear words.
func checkShape(text string) error {
	fields := strings.Fields(text)
	if len(fields) > 0 && (strings.HasPrefix(fields[0], "CRON_TZ=") || strings.HasPrefix(fields[0], "TZ=")) {
		_, zone, _ := strings.Cut(fields[0], "=")
		if _, err := time.LoadLocation(zone); err != nil || zone == "" {
			return fmt.Errorf("there is no time zone %q", zone)
		}
		fields = fields[1:]
	}
	for _, f := range fields {
		if slices.Contains(strings.Split(f, ","), "") {
			return fmt.Errorf("%q has a comma with nothing on one side", f)
		}
	}
	switch n := len(fields); {
	case n == 5:
		return nil
	case n > 0 && strings.HasPrefix(fields[0], "@"):
		return checkName(fields)
	case n == 6:
		return errors.New("it has six fields, and takes five: minute, hour, day of the month, month, day of the week; there are no seconds")
	default:
		return fmt.Errorf("it has %s, and takes five: minute, hour, day of the month, month, day of the week", map[bool]string{true: "one field", false: fmt.Sprint(n, " fields")}[n == 1])
	}
}

// names are possible in place of the fields.
var names = []string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}

// checkName checks an expression that begins like a name. Parse reports @every later.
func checkName(fields []string) error {
	switch name := fields[0]; {
	case name == "@every", slices.Contains(names, name) && len(fields) == 1:
		return nil
	case slices.Contains(names, name):
		return fmt.Errorf("nothing may follow %s", name)
	default:
		return fmt.Errorf("%q is none of %s", name, strings.Join(names, ", "))
	}
}

// searchYears is the number of years in which the next time is searched: in that time every possible date occurs, on each day of the week.
const searchYears = 50

func parser() cron.Parser {
	const fields = cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow
	return cron.MustNewParser(fields | cron.Descriptor | cron.Extended | cron.DowOrDom).WithMaxSearchYears(searchYears)
}

// Next returns the first time after a time; zero without one within 50 years.
//
// If the clocks skip a time, it happens after the change, delayed by the skipped interval: 02:30 happens at 03:30, if the clocks go from 02:00 to
// 03:00. A time that comes twice happens the first time; both times, if the expression is for every hour.
func (e Expression) Next(after time.Time) time.Time {
	if e.fields == nil {
		return time.Time{}
	}
	after = after.In(e.zone)
	from, to := after.ZoneBounds()
	if next := e.within(after); (from.IsZero() || after.Sub(from) > maxChange) && (to.IsZero() || next.Before(to)) {
		return next
	}
	return e.around(after)
}

// maxChange is longer than any single change of clocks.
const maxChange = 26 * time.Hour

// within is Next without a change of the clocks between after and the next time, or shortly before.
func (e Expression) within(after time.Time) time.Time {
	wall := e.fields.Next(clock(after))
	if wall.IsZero() {
		return wall
	}
	_, offset := after.Zone()
	return wall.Add(-time.Duration(offset) * time.Second).In(e.zone)
}

// around is Next near changes of the clocks: it tries all times of the clock from an early enough time to miss none.
func (e Expression) around(after time.Time) (next time.Time) {
	wall := clock(after).Add(-maxChange)
	for {
		if wall = e.fields.Next(wall); wall.IsZero() || !next.IsZero() && wall.After(clock(next)) {
			return next
		}
		for _, at := range e.happens(wall) {
			if at.After(after) && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
	}
}

// happens returns the times at which a time of the clock happens.
func (e Expression) happens(wall time.Time) []time.Time {
	var all []time.Time
	for _, around := range []time.Duration{-maxChange, maxChange} { // before and after a possible change
		_, offset := wall.Add(around).In(e.zone).Zone()
		at := wall.Add(-time.Duration(offset) * time.Second).In(e.zone)
		if clock(at).Equal(wall) && (len(all) == 0 || !all[0].Equal(at)) {
			all = append(all, at)
		}
	}
	switch {
	case len(all) == 0: // the clocks skip it
		_, before := wall.Add(-maxChange).In(e.zone).Zone()
		return []time.Time{wall.Add(-time.Duration(before) * time.Second).In(e.zone)}
	case len(all) == 2 && !e.isHourly():
		return all[:1]
	}
	return all
}

// isHourly reports whether the expression is for every hour.
func (e Expression) isHourly() bool {
	const hours = 1<<24 - 1
	return e.fields.Hour&hours == hours
}

// clock returns what a clock shows, as a time in UTC.
func clock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}
