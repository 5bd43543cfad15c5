package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/content"
	"github.com/swrun/swrun/interpreter"
)

func runScript(c Config) interpreter.Kind {
	if c.ScriptHost == nil {
		c.ScriptHost = &ScriptHost{}
	}
	s := scripts{c}
	return interpreter.Kind{Kind: dsl.KindRunScript, Compile: compileRunScript, Perform: s.perform}
}

// scripts runs scripts of all languages.
type scripts struct{ Config }

// language is a language of scripts.
type language struct {
	names []string // its names in documents; the first one is its own
	run   func(scripts, context.Context, scriptRequest) (ended, error)
}

func languages() []language {
	return []language{
		{[]string{"js", "javascript"}, scripts.runJS},
		{[]string{"python"}, scripts.runPython},
	}
}

// languageOf returns the language with a name in documents.
func languageOf(name string) (language, bool) {
	all := languages()
	i := slices.IndexFunc(all, func(l language) bool { return slices.Contains(l.names, name) })
	if i < 0 {
		return language{}, false
	}
	return all[i], true
}

func languageNames() []string {
	var names []string
	for _, l := range languages() {
		names = append(names, l.names[0])
	}
	return names
}

func compileRunScript(b *interpreter.Builder, t dsl.Task) interpreter.Body {
	task := t.(*dsl.RunScript)
	body := &runScriptBody{processBody: compileProcess(b, task.RunBase, task.Process)}
	if l, ok := languageOf(task.Language); ok {
		body.language = l.names[0]
		b.Needs(interpreter.NeedScript(body.language))
	} else {
		message := fmt.Sprintf("scripts in `%s` cannot run: use %s", task.Language, strings.Join(languageNames(), " or "))
		if slices.Contains([]string{"bash", "sh", "zsh", "shell"}, strings.ToLower(task.Language)) {
			message += ", or `run: { shell: { command: ... } }`"
		}
		b.Report("SW801", task.Pointer.Key("run").Key("script").Key("language"), message)
	}
	if task.Source == nil {
		body.code = b.Value(task.Code)
		return body
	}
	from := task.Source.Endpoint
	if from.Authentication == nil { // otherwise only the performer of the task holds the credential for reading it
		if found, ok := b.Load(task.Source); ok {
			var err error
			if body.loaded, err = scriptText(found.Data); err != nil {
				b.Report("SW802", from.Pointer, "the script at "+from.URI.Text()+" "+err.Error())
			}
			return body
		}
	}
	body.source, body.forSource = compilePlace(b, from), compileAuthentication(b, from.Authentication)
	return body
}

// scriptText returns the text of a script that was read, without a byte order mark. The error describes the mistake as the end of a sentence.
func scriptText(data []byte) (string, error) {
	text, err := content.Text("", data)
	switch {
	case err != nil:
		return "", err
	case len(bytes.TrimSpace(text)) == 0:
		return "", errors.New("is empty")
	}
	return string(text), nil
}

// runScriptBody runs a script whose code is known, or is read from a place that only the run knows.
type runScriptBody struct {
	processBody
	language  string
	code      *expr.Template // nil with a source
	loaded    string         // the source's code, if it could be read before the run: never evaluated
	source    *uri           // nil if the code is known
	forSource *authentication
}

// text returns the script's code, which is known before it runs.
func (r *runScriptBody) text(s *interpreter.Scope) (string, *errors.Error) {
	if r.code == nil {
		return r.loaded, nil
	}
	return evalText(s, r.code, "the code")
}

type scriptRequest struct {
	processRequest
	Language  string      `json:"language"`
	Code      string      `json:"code,omitempty"`
	Source    string      `json:"source,omitempty"`
	ForSource *credential `json:"forSource,omitempty"`
}

func (r *runScriptBody) Enter(s *interpreter.Scope) interpreter.Next {
	prepared, err := r.prepare(s)
	if err != nil {
		return interpreter.Fail(err)
	}
	prepared.Arguments = append(prepared.Arguments, flags(r.names(prepared.Globals), prepared.Globals)...)
	request := scriptRequest{processRequest: prepared, Language: r.language}
	if r.source != nil {
		if request.Source, err = r.source.locate(s, s.Input()); err != nil {
			return interpreter.Fail(err)
		}
		if request.ForSource, err = r.forSource.prepare(s, s.Input()); err != nil {
			return interpreter.Fail(err)
		}
		return r.next(s, request)
	}
	if request.Code, err = r.text(s); err != nil {
		return interpreter.Fail(err)
	}
	return r.next(s, request)
}

// flags writes a map of arguments as argv: --key value, a bare --key for true, nothing for false and null (semantics 10.5).
func flags(names []string, arguments map[string]any) []string {
	var argv []string
	for _, name := range names {
		switch v := arguments[name].(type) {
		case nil:
		case bool:
			if v {
				argv = append(argv, "--"+name)
			}
		default:
			argv = append(argv, "--"+name, stringify(v))
		}
	}
	return argv
}

func (r *runScriptBody) Finish(s *interpreter.Scope, result any) interpreter.Next {
	return r.finish(s, result)
}

func (s scripts) perform(ctx context.Context, r interpreter.Request) (any, error) {
	var request scriptRequest
	if err := json.Unmarshal(r.Body, &request); err != nil {
		return nil, err
	}
	if s.Processes == nil {
		return nil, errNoProcesses()
	}
	if request.Source != "" {
		found, err := resources{s.Load, s.Config}.read(ctx, request.Source, request.ForSource)
		if err != nil {
			return nil, err
		}
		if request.Code, err = scriptText(found.Data); err != nil {
			return nil, interpreter.FailLoad(request.Source, fmt.Errorf("the script %w", err))
		}
	}
	l, ok := languageOf(request.Language)
	if !ok {
		return nil, fmt.Errorf("no language of scripts is called %q", request.Language)
	}
	end, err := l.run(s, ctx, request)
	if err != nil {
		return nil, err
	}
	return end.result(request.Return)
}
