package main

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/swrun/swrun"
	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/jsonvalue"
	"github.com/swrun/swrun/internal/terminal"
	"github.com/swrun/swrun/redact"
)

// readSecrets reads the file or folder of --secrets; an empty name is no file.
func readSecrets(env func(string) (string, bool), name string) (*swrun.Secrets, error) {
	s, _, err := takeSecrets(env, name)
	return s, err
}

// takeSecrets reads secrets, and also returns the values in the file or folder.
func takeSecrets(env func(string) (string, bool), name string) (*swrun.Secrets, map[string]any, error) {
	s := swrun.NewSecrets(nil, env)
	values, unread, err := secretValues(name)
	if err == nil && len(unread) > 0 {
		err = unread[slices.Min(slices.Collect(maps.Keys(unread)))]
	}
	if err == nil {
		err = takeNamespaces(s, name, values)
	}
	s.Replace(values)
	return s, values, err
}

// secretValues reads a file of secrets, a YAML or JSON object, or a folder with a file for each; an empty name is no file. For a folder it also
// returns the errors of unreadable files, by name.
func secretValues(name string) (values map[string]any, unread map[string]error, err error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return secretFolder(name)
	}
	values, err = secretObject(name)
	return values, nil, err
}

func secretObject(name string) (map[string]any, error) {
	if name == "" {
		return nil, nil
	}
	text, err := readFile("the secrets", name, bound{bytes: maxSecrets})
	if err != nil {
		return nil, err
	}
	v, err := decodeData(name, text)
	if err != nil {
		// The decoder's message may quote the text, which is secret.
		return nil, usagef("it must be one YAML or JSON object: name: value", "the secrets in %s cannot be read", name)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, usagef("it must be one YAML or JSON object: name: value", "the secrets in %s are not an object", name)
	}
	return object, nil
}

// secretFolder reads a folder of secrets, as Kubernetes mounts them and agents write them: each file is a secret with the name of the file. Hidden
// files and folders are ignored. An unreadable file does not affect the others.
func secretFolder(folder string) (values map[string]any, unread map[string]error, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, fileError("the secrets cannot be read", err)
	}
	values, unread = map[string]any{}, map[string]error{}
	left := maxSecrets
	for _, entry := range entries {
		name, file := entry.Name(), filepath.Join(folder, entry.Name())
		info, err := os.Stat(file) // of the target of a link
		if strings.HasPrefix(name, ".") || err == nil && info.IsDir() {
			continue
		}
		text, err := secretFile(file, info, left)
		if err != nil {
			unread[name] = err
			continue
		}
		left -= len(text)
		value, err := secretOf(strings.TrimPrefix(text, byteOrderMark))
		if err != nil {
			unread[name] = usagef("give each name once", "the secret %s cannot be read: %s", file, err)
			continue
		}
		if value != nil {
			values[name] = value
		}
	}
	return values, unread, nil
}

// secretFile reads the file of a secret of at most most bytes; its info is nil for a broken link.
func secretFile(file string, info os.FileInfo, most int) (string, error) {
	if info != nil && !info.Mode().IsRegular() {
		return "", usagef("each file of the folder must be a secret", "the secret %s is no file", file)
	}
	text, err := readFile("the secret", file, bound{bytes: maxSecrets})
	switch {
	case err != nil:
		return "", err
	case !utf8.Valid(text):
		return "", usagef("write binary data as base64", "the secret %s is no text in UTF-8", file)
	case len(text) >= most:
		return "", usagef("", "with %s the secrets in %s have more than %d bytes", filepath.Base(file), filepath.Dir(file), maxSecrets)
	}
	return string(text), nil
}

// secretOf returns the secret in the text of a file: JSON objects and arrays, and any other text without the line break at its end; nil if that is
// empty. JSON of which a part would be lost is an error that quotes only a name.
func secretOf(text string) (any, error) {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if _, err := expr.Decode([]byte(text)); err == nil {
			return jsonvalue.DecodeStrict([]byte(text))
		}
	}
	return text, nil
}

// rereadEvery is the interval at which replaced secrets are looked for.
const rereadEvery = 2 * time.Second

// rereader reads the secrets again when they are replaced.
type rereader struct {
	secrets *swrun.Secrets
	name    string // of the file or folder
	log     *slog.Logger

	mu     sync.Mutex
	values map[string]any // the last values
	failed string         // the last error of reading them, or some of them
}

// watch rereads the secrets until ctx ends.
func (r *rereader) watch(ctx context.Context) {
	if r.name == "" {
		return
	}
	tick := time.NewTicker(rereadEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.reread()
		}
	}
}

// reread reads the present secrets. An unreadable secret keeps its former value.
func (r *rereader) reread() {
	r.mu.Lock()
	defer r.mu.Unlock()
	values, unread, err := secretValues(r.name)
	if err == nil { // they may be replaced one after the other, or a write may be in progress
		var again map[string]any
		if again, _, err = secretValues(r.name); err == nil && !reflect.DeepEqual(values, again) {
			return
		}
	}
	if err == nil {
		// Without known namespaces, new secrets are not used.
		err = unread[namespacesOfSecrets]
	}
	if err == nil {
		err = takeNamespaces(r.secrets, r.name, values)
	}
	if err != nil {
		if r.isNews(err) {
			r.log.Warn("the secrets cannot be read again; the former ones stay", "error", err)
		}
		return
	}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(unread)) {
		wrong = append(wrong, unread[name])
		if was, had := r.values[name]; had {
			values[name] = was
		}
	}
	if err := errors.Join(wrong...); r.isNews(err) {
		r.log.Warn("some secrets cannot be read again; their former values stay", "error", err)
	}
	r.values = values
	if changed := r.secrets.Replace(values); len(changed) > 0 {
		r.log.Info("the secrets were replaced", "names", strings.Join(changed, " "))
	}
}

// isNews reports whether secrets are unreadable for another reason than the last time; err is nil if they are readable.
func (r *rereader) isNews(err error) bool {
	text := ""
	if err != nil {
		text = err.Error()
	}
	was := r.failed
	r.failed = text
	return text != "" && text != was
}

// secretsAdvice returns the remedies for the secrets that documents declare and that their tasks cannot read here; empty if there are no such secrets.
func secretsAdvice(s *swrun.Secrets, all ...*swrun.Document) (advice []string) {
	var noValue []string
	refusedIn := map[string][]string{}
	for _, d := range all {
		if d.Workflow == nil {
			continue
		}
		namespace := d.Workflow.Document.Namespace
		refused, missing := control.Lacking(s, namespace, d.Workflow.Use.Secrets)
		noValue, refusedIn[namespace] = append(noValue, missing...), append(refusedIn[namespace], refused...)
	}
	if len(noValue) > 0 {
		advice = append(advice, valuesAdvice(sortedOnce(noValue)))
	}
	for _, namespace := range slices.Sorted(maps.Keys(refusedIn)) {
		if refused := sortedOnce(refusedIn[namespace]); len(refused) > 0 {
			advice = append(advice, terminal.Printable("the namespace "+namespace+" may not use "+strings.Join(refused, ", ")+", and a task that reads it fails: grant it in $namespaces of the file of --secrets"))
		}
	}
	return advice
}

func sortedOnce(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// valuesAdvice returns the remedy for secrets without a value.
func valuesAdvice(names []string) string {
	which, they := "the secret "+names[0]+" has", "a task that reads it"
	if len(names) > 1 {
		which, they = "the secrets "+strings.Join(names, ", ")+" have", "a task that reads one"
	}
	return terminal.Printable(which + " no value, and " + they + " fails: give it by --secrets FILE or FOLDER, or as SWRUN_SECRET_<NAME>")
}

// namespacesOfSecrets is the member of the file of --secrets with the namespaces that may use each secret.
const namespacesOfSecrets = "$namespaces"

// takeNamespaces removes the member about namespaces from the values, and restricts the secrets. A former restriction that was removed holds until
// the program ends.
func takeNamespaces(s *swrun.Secrets, file string, values map[string]any) error {
	namespaces, err := secretNamespaces(file, values)
	delete(values, namespacesOfSecrets)
	for secret, allowed := range namespaces {
		s.Restrict(secret, allowed...)
	}
	return err
}

// secretNamespaces returns the namespaces that may use a secret, for the secrets that the file restricts.
func secretNamespaces(file string, object map[string]any) (map[string][]string, error) {
	said, there := object[namespacesOfSecrets]
	if !there {
		return nil, nil
	}
	const how = "write $namespaces: {SECRET: [NAMESPACE, ...]}; \"*\" means all namespaces, and [] no namespace"
	of, ok := said.(map[string]any)
	if !ok {
		return nil, usagef(how, "$namespaces in %s is not an object", file)
	}
	all := map[string][]string{}
	for secret, v := range of {
		list, ok := v.([]any)
		if !ok {
			return nil, usagef(how, "$namespaces in %s: the value of %s is not a list of namespaces", file, secret)
		}
		all[secret] = []string{}
		for _, one := range list {
			namespace, ok := one.(string)
			if !ok || namespace != swrun.EveryNamespace && !dsl.IsName(namespace) {
				return nil, usagef(how, "$namespaces in %s: the list of %s contains a value that is not a namespace", file, secret)
			}
			all[secret] = append(all[secret], namespace)
		}
	}
	return all, nil
}

// newMask returns a mask for the secrets of a workflow, and everything in the file of --secrets.
func newMask(s *swrun.Secrets, w *dsl.Workflow, ascii bool) *mask {
	return &mask{set: s.Of(w), ascii: ascii}
}

// mask hides secrets in the output of this process. Nil hides nothing.
type mask struct {
	set   *redact.Set
	ascii bool
}

func (m *mask) Text(s string) string {
	if m == nil {
		return s
	}
	return m.look(m.set.Text(s))
}

// look returns a text for a terminal that knows ASCII only.
func (m *mask) look(s string) string {
	if !m.ascii || !strings.Contains(s, "‹redacted") {
		return s
	}
	return strings.NewReplacer("‹", "<", "›", ">").Replace(s)
}

// Value returns JSON data without secrets. Data without secrets is returned unchanged.
func (m *mask) Value(v any) any {
	if m == nil {
		return v
	}
	return m.set.Value(v)
}

// fault returns e without secrets. It must precede the shortening of e's texts: half a secret is hard to recognise.
func (m *mask) fault(e *errors.Error) *errors.Error {
	if m == nil {
		return e
	}
	return m.set.Error(e)
}

type maskedWriter struct {
	w    io.Writer
	hide func(string) string
}

func (w maskedWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.w, w.hide(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
