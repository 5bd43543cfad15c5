package dsl

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/swrun/swrun/dsl/source"
	"github.com/swrun/swrun/internal/suggest"
)

// Check applies the rules to a document that Parse has read, without running it. It finds references to names that do not exist, timeouts that cannot
// fire, catches that cannot match, expressions that are not jq, and more. The diagnostics are sorted by position, without the diagnostics that the
// document suppresses.
func Check(w *Workflow, analyze Analyzer) Diagnostics {
	c := &checker{w: w, analyzer: analyze, severities: map[string]Severity{}, analyzed: map[string]analysis{}}
	for _, r := range Rules() {
		c.severities[r.Code] = r.Severity
	}
	if _, unsupported := w.Evaluate.Unsupported(); !unsupported { // an expression in another language is not jq
		c.texts = expressionTexts(w)
	}
	for _, rule := range []func(*checker){
		checkNames, checkVersions, checkDirectives, checkReachable, checkLoops, checkRecursion, checkSwitches, checkRunOn, checkForks, checkContainerNames,
		checkReferences, checkUnused,
		checkTimes, checkRetries, checkActivities, checkEngine, checkBounds, checkRaces,
		checkFilters, checkRaised, checkComparedTypes,
		checkExpressions, checkConditions, checkLookalikes, checkInputFields, checkMembers, checkOutputShapes, checkCatchData, checkClock,
		checkSecrets, checkUntrusted, checkCertificates,
		checkCorrelations, checkScheduleEvents,
		checkRequests, checkEvaluate, checkFormats, checkCron, checkSchedule, checkScheduleParts, checkScheduleLoops, checkLifecycleFilters, checkEventFilters, checkLifecycleEmits, checkForeign,
	} {
		rule(c)
	}
	c.dropCascading()
	c.dropSecondary()
	c.w.Source.tellForeign(c.found)
	c.suppress()
	c.found.Sort()
	return c.found
}

// checker collects the diagnostics of Check.
type checker struct {
	w          *Workflow
	analyzer   Analyzer
	severities map[string]Severity
	found      Diagnostics
	texts      []expressionText    // every expression of the document
	analyzed   map[string]analysis // by source
}

// analysis is the analyzer's answer for one expression.
type analysis struct {
	facts Facts
	err   error
}

// analyze calls the analyzer once for each expression.
func (c *checker) analyze(source string) (Facts, error) {
	known, ok := c.analyzed[source]
	if !ok {
		known.facts, known.err = c.analyzer.Analyze(source)
		c.analyzed[source] = known
	}
	return known.facts, known.err
}

// facts calls visit for every expression of the document with valid syntax.
func (c *checker) facts(visit func(expressionText, Facts)) {
	for _, e := range c.texts {
		if !e.isExpression() {
			continue
		}
		if facts, err := c.analyze(e.text); err == nil {
			visit(e, facts)
		}
	}
}

// add reports d with the severity of its rule. A diagnostic without a range is reported at the value of its pointer.
func (c *checker) add(d Diagnostic) {
	c.addAs(c.severities[d.Code], d)
}

func (c *checker) addAs(severity Severity, d Diagnostic) {
	d.File, d.Severity = c.w.Source.File, severity
	if d.Range == (source.Range{}) {
		d.Range = c.w.Source.Value(d.Pointer)
	}
	d = c.w.Source.withAlias(d)
	if c.w.Source.HasAnchors() && slices.ContainsFunc(c.found, func(f Diagnostic) bool {
		return f.Code == d.Code && f.Range == d.Range && f.Message == d.Message
	}) {
		return // the same text, used once more
	}
	c.found = append(c.found, d)
}

// withSuggestion completes d, which is about a name, with the author's name that was probably meant.
func (c *checker) withSuggestion(d Diagnostic, names []string) Diagnostic {
	if _, n, exact := c.w.Source.find(d.Pointer); exact && n.Kind == yaml.ScalarNode {
		return c.w.Source.suggested(d, n, names, suggest.Name)
	}
	return d
}

// replace replaces the text at a pointer.
func (c *checker) replace(at Pointer, text string) []source.Edit {
	_, n, exact := c.w.Source.find(at)
	if !exact {
		return nil
	}
	return c.w.Source.Replace(n, text)
}

// lists calls visit for every list of tasks, with the task that contains it (nil for the workflow and extensions).
func (c *checker) lists(visit func(owner Task, tasks TaskList)) {
	(&walker{onList: visit}).workflow(c.w, nil)
}

func names(l TaskList) []string {
	all := make([]string, len(l))
	for i, t := range l {
		all[i] = t.Base().Name
	}
	return all
}

// ignoreMark begins a comment that suppresses a diagnostic.
const ignoreMark = "# swrun:ignore "

// suppress removes the diagnostics that the document suppresses: `# swrun:ignore CODE reason` on the line or the line above.
func (c *checker) suppress() {
	for line := 1; line <= c.w.Source.Lines(); line++ {
		text := string(c.w.Source.Line(line))
		i := strings.Index(text, ignoreMark)
		if i < 0 {
			continue
		}
		code, reason, _ := strings.Cut(strings.TrimSpace(text[i+len(ignoreMark):]), " ")
		at := c.w.Source.PositionOf(c.w.Source.LineStart(line) + i)
		place := source.Range{Start: at, End: c.w.Source.PositionOf(c.w.Source.LineStart(line) + len(text))}
		switch {
		case strings.TrimSpace(reason) == "":
			c.add(Diagnostic{Code: "SW901", Range: place, Message: "an ignore needs a reason after the code"})
		case !c.removeIgnored(code, line) && !(code == "SW206" && CallsElsewhere(c.w)): // functions from elsewhere are checked when they are read
			c.add(Diagnostic{Code: "SW902", Range: place, Message: fmt.Sprintf("there is no `%s` here to ignore", code)})
		}
	}
}

// Ignores reports whether a document suppresses diagnostics of a code on a line.
func (s *Source) Ignores(code string, line int) bool {
	for _, l := range []int{line - 1, line} {
		if l < 1 || l > s.Lines() {
			continue
		}
		_, after, marked := strings.Cut(string(s.Line(l)), ignoreMark)
		if ignored, reason, _ := strings.Cut(strings.TrimSpace(after), " "); marked && ignored == code && strings.TrimSpace(reason) != "" {
			return true
		}
	}
	return false
}

// removeIgnored removes the diagnostics of a code on a line and the next; errors stay.
func (c *checker) removeIgnored(code string, line int) bool {
	kept := c.found[:0:0]
	for _, d := range c.found {
		if at := d.Range.Start.Line; d.Code == code && d.Severity != SeverityError && (at == line || at == line+1) {
			continue
		}
		kept = append(kept, d)
	}
	ignored := len(kept) < len(c.found)
	c.found = kept
	return ignored
}
