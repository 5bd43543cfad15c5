package dsl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/swrun/swrun/dsl"
)

// BenchmarkParse60 parses a document of 60 lines.
func BenchmarkParse60(b *testing.B) { benchmarkParse(b, 60) }

// BenchmarkParse1000 parses a document of 1,000 lines.
func BenchmarkParse1000(b *testing.B) { benchmarkParse(b, 1000) }

func benchmarkParse(b *testing.B, lines int) {
	text := []byte(longDocument(lines))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, diagnostics := dsl.Parse("bench.yaml", text); len(diagnostics) > 0 {
			b.Fatal(diagnostics)
		}
	}
}

// longDocument returns a valid document with about the given number of lines.
func longDocument(lines int) string {
	var text strings.Builder
	text.WriteString("document:\n  dsl: 1.0.3\n  namespace: bench\n  name: long\n  version: 1.0.0\ndo:\n")
	for i := 0; strings.Count(text.String(), "\n") < lines; i++ {
		fmt.Fprintf(&text, `  - try%[1]d:
      try:
        - call%[1]d:
            call: http
            with:
              method: get
              endpoint: https://example.com/{id}
              headers: { accept: application/json }
            timeout: { after: { seconds: 2 } }
      catch:
        errors: { with: { type: https://serverlessworkflow.io/spec/1.0.0/errors/timeout, status: 408 } }
        retry: { delay: PT1S, limit: { attempt: { count: 3 } } }
        do:
          - set%[1]d: { set: { price: 42, because: '${ $error.title }' } }
`, i)
	}
	return text.String()
}
