package diagnostics

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/dsl/source"
)

// fixRounds is the maximum number of rounds of fixes for a document: one repair may reveal another finding.
const fixRounds = 5

// Fix makes all safe edits of the findings of check, and returns the number of findings that they repair.
func Fix(text []byte, check func([]byte) dsl.Diagnostics) ([]byte, int) {
	repaired := 0
	for range fixRounds {
		edits, n := safeEdits(check(text))
		if n == 0 {
			break
		}
		next := applyEdits(text, edits)
		if bytes.Equal(next, text) {
			break
		}
		text, repaired = next, repaired+n
	}
	return text, repaired
}

// safeEdits collects the edits of all findings that can be repaired together: no two of them touch the same text.
func safeEdits(ds dsl.Diagnostics) (edits []source.Edit, findings int) {
	for _, d := range ds {
		if !isFixable(d) || slices.ContainsFunc(d.Fix, func(e source.Edit) bool { return overlapsAny(edits, e) }) {
			continue
		}
		edits = append(edits, d.Fix...)
		findings++
	}
	return edits, findings
}

func overlapsAny(edits []source.Edit, e source.Edit) bool {
	return slices.ContainsFunc(edits, func(other source.Edit) bool {
		return e.Range.Start.Offset <= other.Range.End.Offset && other.Range.Start.Offset <= e.Range.End.Offset
	})
}

// applyEdits applies edits that do not overlap.
func applyEdits(text []byte, edits []source.Edit) []byte {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b source.Edit) int { return cmp.Compare(b.Range.Start.Offset, a.Range.Start.Offset) })
	for _, e := range edits {
		from, to := e.Range.Start.Offset, e.Range.End.Offset
		if from < 0 || to < from || to > len(text) {
			continue
		}
		text = slices.Concat(text[:from], []byte(e.NewText), text[to:])
	}
	return text
}
