package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// BenchmarkStartup is a whole process that runs a document with one task (the aim is less than 25 ms).
func BenchmarkStartup(b *testing.B) {
	binary := filepath.Join(b.TempDir(), "swrun")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	file := filepath.Join(b.TempDir(), "one.yaml")
	text := "document: { dsl: 1.0.3, namespace: demo, name: one, version: 0.1.0 }\ndo:\n  - a: { set: { x: '${ 1 + 1 }' } }\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if out, err := exec.Command(binary, "run", file).CombinedOutput(); err != nil || string(out) != "{\"x\":2}\n" {
			b.Fatalf("%v\n%s", err, out)
		}
	}
}
