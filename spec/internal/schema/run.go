package schema

// runnable is an object that a run task can run.
type runnable struct {
	key  string // the property of `run` that selects it
	with shape  // its content
}

// runnables returns the objects that run tasks can run.
func runnables() []runnable {
	return []runnable{
		{"container", runContainer().about("A container.")},
		{"script", runScript().about("A script.")},
		{"shell", runShell().about("A shell command.")},
		{"workflow", runWorkflow().about("Another workflow.")},
	}
}

// run is the `run` of a task: exactly one runnable, with the properties of all of them.
func run() shape {
	all := properties{
		"await":  boolean().about("Whether to wait until it ends: true unless set."),
		"return": enum("stdout", "stderr", "code", "all", "none").about("The output (default stdout)."),
	}
	var keys []string
	for _, r := range runnables() {
		all[r.key] = r.with
		keys = append(keys, r.key)
	}
	return object(nil, all).exactlyOne(keys...)
}

// process is a process with properties of its own; arguments may be a map, as up to 1.0.1.
func process(required []string, own properties) shape {
	return object(required, own.with(properties{
		"stdin":       anyText().about("The standard input; text, or an expression."),
		"arguments":   anyOf(listOf(anyText()), anyObject(), use("expression")).about("The arguments."),
		"environment": anyObject().about("Environment variables."),
	}))
}

func runContainer() shape {
	lifetime := object(needs("cleanup"), properties{
		"cleanup": enum("always", "never", "eventually").about("When the container is removed."),
		"after":   use("duration").about("How long after the run it is removed, with `cleanup: eventually`."),
	})
	lifetime["if"] = shape{"properties": properties{"cleanup": constant("eventually")}}
	lifetime["then"] = shape{"required": needs("after")}
	lifetime["else"] = shape{"not": shape{"required": needs("after")}}
	return process(needs("image"), properties{
		"image":      text().about("The image to run."),
		"name":       text().about("The container's name."),
		"command":    text().about("The command to run in it."),
		"ports":      anyObject().about("The container's ports, and the ports of the host under which they are reached."),
		"volumes":    anyObject().about("Paths of the host, and where the container sees them."),
		"lifetime":   lifetime.about("How long the container stays."),
		"pullPolicy": enum("ifNotPresent", "always", "never").about("When the image is fetched: ifNotPresent unless set."),
	})
}

func runScript() shape {
	return process(needs("language"), properties{
		"language": likely("js", "python").about("js or python."),
		"code":     text().about("The script."),
		"source":   use("resource").about("Where the script is."),
	}).exactlyOne("code", "source")
}

func runShell() shape {
	return process(needs("command"), properties{"command": text().about("The command.")})
}

func runWorkflow() shape {
	return object(needs("namespace", "name", "version"), properties{
		"namespace": text().about("The namespace of the workflow."),
		"name":      text().about("The name of the workflow."),
		"version":   text().about("A semantic version, or latest."),
		"input":     anything().about("The input; the task's own if absent."),
	})
}
