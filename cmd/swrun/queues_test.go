package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// inQueues returns workflows that select the queue gpu, each in its own way.
func inQueues() map[string]string {
	const queue, other = "metadata: {swrun: {queue: gpu}}", "metadata: {swrun: {queue: other}}"
	const shell = "run: {shell: {command: 'true'}}"
	return map[string]string{
		"task":     "}\ndo: [{a: {" + shell + ", " + queue + "}}]",
		"around":   "}\ndo: [{o: {do: [{a: {" + shell + "}}], " + queue + "}}]",
		"document": ", " + queue + "}\ndo: [{a: {" + shell + "}}]",
		"instead":  ", " + other + "}\ndo: [{a: {" + shell + ", " + queue + "}}]",
		"function": "}\nuse: {functions: {f: {" + shell + ", " + queue + "}}}\ndo: [{a: {call: f}}]",
		"call":     "}\nuse: {functions: {f: {" + shell + ", " + other + "}}}\ndo: [{a: {call: f, " + queue + "}}]",
	}
}

// TestTasksAreInQueues: a document, a task or a function names the queue of its work, or the enclosing task does; the call takes precedence over its
// function, and the task over its document. No worker performs a task of a queue that it does not take. Metrics contain the number and the wait of
// tasks in each queue, and the repairs (promises 63, 64, 65, 73, 119, 121, 210).
func TestTasksAreInQueues(t *testing.T) {
	h := newHosted(t)
	w := h.listening("worker", "--allow-processes", "--queue", "default", "--queue", "other", "--metrics", "127.0.0.1:0")
	for name, rest := range inQueues() {
		h.exits(exitOK, "deploy", mustWriteFile(t, name+".yaml", "document: {dsl: 1.0.3, namespace: demo, name: "+name+", version: 0.1.0"+rest))
		h.exits(exitOK, "start", "demo/"+name, "--id", name)
	}
	for name := range inQueues() {
		h.until("takes the queue gpu", "describe", name)
	}
	metrics := read(t, w.url+"/metrics")
	for _, name := range []string{
		`swrun_queue_waiting{queue="gpu"}`, `swrun_queue_oldest_age_seconds{queue="gpu"}`, "swrun_repair_check_interval_seconds", "swrun_repair_scan_limit",
		"swrun_store_repairs_total", "swrun_retry_backlog", "swrun_task_attempts_failed_total",
	} {
		if !strings.Contains(metrics, "\n"+name) {
			t.Errorf("there is no metric %s", name)
		}
	}
	h.work("--allow-processes", "--queue", "gpu")
	for name := range inQueues() {
		h.until("completed", "describe", name)
	}
	if code := w.stop(); code != exitOK {
		t.Errorf("the worker ends with %d", code)
	}
}

// read returns the answer to a GET.
func read(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, answer.Status, err)
	}
	return string(text)
}
