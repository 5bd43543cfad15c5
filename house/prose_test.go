package house

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/swrun/swrun/internal/golden"
)

// dialect are the phrases that docs/writing.md replaces, by the short name in the list of debts.
var dialect = map[string]*regexp.Regexp{
	"what":     regexp.MustCompile(`(?i)\bwhat\b`),
	"says":     regexp.MustCompile(`(?i)\b(says?|said|saying|tells?|told|telling)\b`),
	"that-of":  regexp.MustCompile(`(?i)\b(that|those|the ones?) of\b|\bthose (that|which|who)\b|\bones? (that|which|who)\b|\bthat which\b`),
	"somebody": regexp.MustCompile(`(?i)\b(somebody|anybody|nobody|everybody|whoever)\b`),
	"ended":    regexp.MustCompile(`(?i)\b(has|have|had) (not )?(just |already |never )?(ended|come|gone|begun|faulted|stopped)\b`),
	"at-once":  regexp.MustCompile(`(?i)\b(all the same|at once|by itself|by themselves|meanwhile|for ever|again and again)\b`),
	"stands":   regexp.MustCompile(`(?i)\bstands?\b`),
	"goes-on":  regexp.MustCompile(`(?i)\b(go|goes|going|gone|went) on\b`),
	"who":      regexp.MustCompile(`(?i)(^|[.,;:(] *|\b(and|or|of|for|by|to|from|with|as|than|is|knows?|asks?|shows?|but|if) )who(m)?\b`),
	"so-many":  regexp.MustCompile(`(?i)\bso (many|much|few)\b`),
	"none":     regexp.MustCompile(`(?i)\b(is|are|has|have|was|be|with) none\b`),
}

// plain matches what the phrases mean in plain English: an interrogative, a name, a standard term.
var plain = regexp.MustCompile("(?i)\\bwhat (to do|happen(s|ed)|if)\\b|\\bstands? (for|in for)\\b|`[^`]*`|\\*\\*.*\\?\\*\\*")

// kind is a kind of text, which has readers and a limit of its own.
type kind string

const (
	comments kind = "comments"
	messages kind = "messages" // messages, help, descriptions of the API: the texts of the program
	pages    kind = "docs"
)

// limitOf is how often a phrase may occur in 1000 words of a kind of text.
func limitOf(k kind) float64 {
	if k == messages {
		return 0.2
	}
	return 0.5
}

// text is the prose of one kind in one package.
type text struct {
	words     int
	sentences int
	found     map[string]int
	where     map[string][]string // file:line of each phrase
}

// allowed is how often a phrase may occur in a text: by its words, and for long sentences in a page one of twenty.
func (x *text) allowed(phrase string, k kind) int {
	switch {
	case phrase != "long":
		return max(1, int(limitOf(k)*float64(x.words)/1000))
	case k == pages:
		return x.sentences / 20
	}
	return x.sentences
}

// place is a package and a kind of text.
type place struct {
	pkg  string
	kind kind
}

// debts is the list of counts above the limit, which only falls.
const debts = "house/testdata/prose.txt"

// TestProse: no package uses a phrase of docs/writing.md more often than the limit, or than its line in the list of debts. -update writes lower counts.
func TestProse(t *testing.T) {
	t.Parallel()
	owed, left := readDebts(t), map[string]int{}
	for at, prose := range gather(t) {
		for phrase, found := range prose.found {
			line := fmt.Sprintf("%s %s %s", at.pkg, at.kind, phrase)
			allowed := prose.allowed(phrase, at.kind)
			if found <= allowed {
				continue
			}
			left[line] = min(found, owed[line])
			if found > owed[line] {
				t.Errorf("%s: %q occurs %d times in %d words, the limit is %d: docs/writing.md has the plain words\n\t%s", line, phrase, found,
					prose.words, max(allowed, owed[line]), strings.Join(prose.where[phrase], "\n\t"))
			}
			if found < owed[line] && !golden.Update() {
				t.Errorf("%s: %d are left of %d: lower the line in %s by -update", line, found, owed[line], debts)
			}
		}
	}
	for line := range owed {
		if left[line] == 0 && !golden.Update() {
			t.Errorf("%s is within the limit: delete the line in %s by -update", line, debts)
		}
	}
	if golden.Update() {
		writeDebts(t, left)
	}
}

func readDebts(t *testing.T) map[string]int {
	t.Helper()
	owed := map[string]int{}
	lines := bufio.NewScanner(strings.NewReader(read(t, debts)))
	for lines.Scan() {
		at := strings.LastIndexByte(lines.Text(), ' ')
		n, err := strconv.Atoi(lines.Text()[at+1:])
		if err != nil {
			t.Fatal(err)
		}
		owed[lines.Text()[:at]] = n
	}
	return owed
}

func writeDebts(t *testing.T, left map[string]int) {
	t.Helper()
	var b strings.Builder
	for _, line := range slices.Sorted(maps.Keys(left)) {
		fmt.Fprintf(&b, "%s %d\n", line, left[line])
	}
	if err := os.WriteFile(debts, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// gather collects the prose of the repository by package and kind.
func gather(t *testing.T) map[place]*text {
	t.Helper()
	all := map[place]*text{}
	add := func(pkg string, k kind, file string, line int, words string) {
		one := all[place{pkg, k}]
		if one == nil {
			one = &text{found: map[string]int{}, where: map[string][]string{}}
			all[place{pkg, k}] = one
		}
		one.add(words, file, line)
	}
	for name, content := range prose(t) {
		if strings.Contains(name, "testdata/") || strings.HasPrefix(name, "docs/decisions/") || name == "docs/writing.md" || strings.HasSuffix(name, ".pb.go") {
			continue
		}
		switch path.Ext(name) {
		case ".md":
			addPage(name, content, add)
		case ".lua":
			for n, line := range strings.Split(content, "\n") {
				if _, comment, ok := strings.Cut(line, "--"); ok {
					add(path.Dir(name), comments, name, n+1, comment)
				}
			}
		case ".go":
			addSource(t, name, content, add)
		}
	}
	return all
}

// startsPart matches a line of a page that continues no sentence of the line before: a heading, a row, a list item, a blank line.
var startsPart = regexp.MustCompile(`^\s*(#|\||[-*] |\d+\. |$)`)

// addPage adds the paragraphs, items and cells of a page, without its blocks of code.
func addPage(name, content string, add func(pkg string, k kind, file string, line int, words string)) {
	part, begins, code := "", 1, false
	for n, line := range strings.Split(content+"\n", "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
			continue
		}
		if code || !startsPart.MatchString(line) {
			if !code {
				part += " " + line
			}
			continue
		}
		for _, cell := range strings.Split(part, " | ") {
			add(name, pages, name, begins, cell)
		}
		part, begins = line, n+1
	}
}

// addSource adds the comments and the messages of a file.
func addSource(t *testing.T, name, content string, add func(pkg string, k kind, file string, line int, words string)) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, content, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Comments {
		add(path.Dir(name), comments, name, files.Position(group.Pos()).Line, group.Text())
	}
	if strings.HasSuffix(name, "_test.go") {
		return
	}
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		words, _ := strconv.Unquote(literal.Value)
		if isTag.MatchString(words) {
			words = described(words)
		}
		if strings.Count(words, " ") > 1 {
			add(path.Dir(name), messages, name, files.Position(literal.Pos()).Line, words)
		}
		return true
	})
}

// isTag matches the tag of a field.
var isTag = regexp.MustCompile(`^[a-zA-Z]+:".*"$`)

// described returns the texts of a tag that people read.
func described(tag string) string {
	var all []string
	for _, key := range []string{"doc", "help", "description"} {
		all = append(all, reflect.StructTag(tag).Get(key))
	}
	return strings.TrimSpace(strings.Join(all, " "))
}

// add counts the words of a piece of prose, and the phrases in it.
func (x *text) add(words, file string, line int) {
	for _, sentence := range sentenceEnd.Split(words, -1) {
		x.sentences++
		if len(strings.Fields(sentence)) > longSentence {
			x.note("long", file, line)
		}
	}
	words = plain.ReplaceAllString(words, "")
	x.words += len(strings.Fields(words))
	for phrase, pattern := range dialect {
		for range pattern.FindAllString(words, -1) {
			x.note(phrase, file, line)
		}
	}
}

// note counts a phrase, and keeps its place.
func (x *text) note(phrase, file string, line int) {
	x.found[phrase]++
	x.where[phrase] = append(x.where[phrase], fmt.Sprintf("%s:%d", file, line))
}

// longSentence is the number of words from which a sentence of a page is long.
const longSentence = 30

// sentenceEnd matches the end of a sentence.
var sentenceEnd = regexp.MustCompile(`[.!?][*)"]*(\s+|$)`)
