package diagnostics

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/swrun/swrun/dsl"
)

// WriteGitHub writes ds as workflow commands, which GitHub shows beside the lines of a pull request.
func WriteGitHub(w io.Writer, ds dsl.Diagnostics) error {
	var b strings.Builder
	for _, d := range ds {
		level := sarifLevel(d.Severity)
		if level == "note" {
			level = "notice"
		}
		fmt.Fprintf(&b, "::%s file=%s,line=%d,endLine=%d,col=%d,endColumn=%d,title=%s::%s\n", level, githubProperty(filepath.ToSlash(d.File)),
			d.Range.Start.Line, d.Range.End.Line, d.Range.Start.Column, d.Range.End.Column, githubProperty(d.Code), githubText(sarifText(d)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func githubText(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func githubProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(githubText(s))
}
