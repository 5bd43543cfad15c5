package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/swrun/swrun/internal/enginetest"
)

// outputsIn returns the outputs of processes.
func outputsIn() []incoming {
	return []incoming{
		{"run shell", writtenCells(), openShell}, {"run script in Python", writtenCells(), openPython}, {"run container", writtenCells(), openContainer},
		{"run script in JavaScript", scriptCells(), openScript},
	}
}

// writtenCells returns the cells of a process that writes the body: all of its output is text.
func writtenCells() map[string]incomingCell {
	const section, refused = "10.2", "!runtime: standard output is not UTF-8"
	text := func(body, want string) sample { return sample{body: body, want: want} }
	same := func(body string) incomingCell { return comes(text(body, `"`+body+`"`)).as(section) }
	return map[string]incomingCell{
		"another charset": comes(text("caf\xe9", refused)).as(section), "UTF-16": comes(text(asUTF16("a"), refused)).as(section),
		"byte order mark": comes(text(marked("a"), `"`+byteOrderMark+`a"`)).as(section), "not UTF-8": comes(text("a\xff", "!runtime: byte 2 is 0xff"), text("\ufffd\xed\xa0\x80", refused)).as(section),
		"null": same("null"), "absent": comes(text("", `""`)).as(section), "empty": comes(text("\n", `""`), text(" \n", `" "`)).as(section), "empty values": comes(text("{}", `"{}"`), text("[]\n", `"[]"`)).as(section),
		"large integer": same("7615917337495251231"), "1e400": same("1e400"), "long fraction": same("0.1234567890123456789"), "unknown members": comes(text(`{"a":1}`, `"{\"a\":1}"`)).as(section),
		"other media types": nothingOf("a process does not say what it writes"), "several headers": nothingOf("what a process writes has no headers"),
		"line breaks of Windows": comes(text("a\r\nb\r\n", `"a\r\nb"`), text("a\n\n\n", `"a"`)).as(section),
	}
}

func openShell(*testing.T) func(*testing.T, sample) string {
	return func(t *testing.T, s sample) string {
		return performed(t, fmt.Sprintf("do: [{a: {run: {shell: {command: \"cat '%s'\"}}}}]\n", mustWriteFile(t, "written", s.body)))
	}
}

func openPython(t *testing.T) func(*testing.T, sample) string {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	return func(t *testing.T, s sample) string {
		return performed(t, fmt.Sprintf("do: [{a: {run: {script: {language: python, code: \"import sys; sys.stdout.buffer.write(open('%s', 'rb').read())\"}}}}]\n", mustWriteFile(t, "written", s.body)))
	}
}

// incomingEngine serves an engine of containers for the duration of a test.
func incomingEngine(t *testing.T) {
	folder, err := os.MkdirTemp("", "engine") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(folder, "s")
	stop, err := enginetest.New().Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); os.RemoveAll(folder) })
	t.Setenv("DOCKER_HOST", "unix://"+socket)
}

func openContainer(*testing.T) func(*testing.T, sample) string {
	return func(t *testing.T, s sample) string {
		return performed(t, fmt.Sprintf("do: [{a: {run: {container: {image: alpine, command: \"cat '%s'\"}}}}]\n", mustWriteFile(t, "written", s.body)))
	}
}

// scriptCells returns the cells of a script that prints an argument, which the task passes as a variable.
func scriptCells() map[string]incomingCell {
	const section = "10.5"
	prints := func(body, want string) incomingCell { return comes(sample{body: body, want: want}) }
	return map[string]incomingCell{
		"another charset": nothingOf("a script in JavaScript writes characters"), "UTF-16": nothingOf("a script in JavaScript writes characters"),
		"byte order mark": prints(`"\ufeffa"`, `"`+byteOrderMark+`a"`).as("10.2"), "not UTF-8": comes(sample{head: `"\ud800"`, body: "1", want: "\"\ufffd\""}).as("10.2"),
		"null": prints(`null`, `"null"`), "absent": comes(sample{head: "''", body: "1", want: `""`}), "empty": prints(`""`, `""`), "empty values": prints(`{"a":[],"b":{}}`, `"{\"a\":[],\"b\":{}}"`),
		"large integer": prints(`7615917337495251231`, `"7615917337495251000"`).as(section), "1e400": prints(`1e400`, `"null"`).as(section), "long fraction": prints(`0.1234567890123456789`, `"0.12345678901234568"`).as(section),
		"unknown members": prints(`{"beyond":1}`, `"{\"beyond\":1}"`), "other media types": nothingOf("a script does not say what it writes"), "several headers": nothingOf("what a script writes has no headers"),
		"line breaks of Windows": prints(`"a\r\nb\r\n"`, `"a\r\nb"`).as("10.2"),
	}
}

func openScript(*testing.T) func(*testing.T, sample) string {
	return func(t *testing.T, s sample) string {
		code := `typeof given === "string" ? given : JSON.stringify(given)`
		if s.head != "" {
			code = s.head
		}
		return performed(t, fmt.Sprintf("do: [{a: {run: {script: {language: js, code: %q, arguments: {given: '${ .given }'}}}}}]\n", "console.log("+code+")"), "-i", `{"given":`+s.body+`}`)
	}
}
