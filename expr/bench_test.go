package expr_test

import "testing"

func benchmarkEval(b *testing.B, program string) {
	input := mustDecode(b, `{"count": 41, "user": {"name": "Ada", "roles": ["admin", "dev"]},
		"items": [{"id": 1, "price": 10.5, "n": 2}, {"id": 2, "price": 3, "n": 10}, {"id": 3, "price": 7, "n": 1}]}`)
	code := mustCompile(b, program)
	variables := env{"context": map[string]any{"total": 7}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := code.Eval(variables, input); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEvalPath(b *testing.B) { benchmarkEval(b, "${ .user.name }") }
func BenchmarkEvalObject(b *testing.B) {
	benchmarkEval(b, "${ {name: .user.name, total: $context.total} }")
}
func BenchmarkEvalAdd(b *testing.B)  { benchmarkEval(b, "${ .count + 1 }") }
func BenchmarkEvalText(b *testing.B) { benchmarkEval(b, `${ "Hello \(.user.name), \(.count)" }`) }

func BenchmarkEvalPipeline(b *testing.B) {
	benchmarkEval(b, "${ .items | map(.price * .n) | add }")
}

// BenchmarkEvalMachine is a small program that needs the jq machine.
func BenchmarkEvalMachine(b *testing.B) { benchmarkEval(b, "${ .count as $n | $n + 1 }") }

func BenchmarkCompilePath(b *testing.B) { benchmarkCompile(b, "${ .user.name }") }
func BenchmarkCompilePipeline(b *testing.B) {
	benchmarkCompile(b, "${ .items | map(.price * .n) | add }")
}

func benchmarkCompile(b *testing.B, program string) {
	b.ReportAllocs()
	for b.Loop() {
		mustCompile(b, program)
	}
}
