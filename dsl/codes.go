package dsl

import "slices"

// Rule is one kind of diagnostic.
type Rule struct {
	Code        string
	Severity    Severity
	Title       string
	Explanation string // the text that `swrun explain` prints
}

// Rules returns every rule, sorted by code.
func Rules() []Rule { return slices.Concat(formRules(), checkRules(), compileRules(), commentRules()) }

// formRules are the rules that Parse applies.
func formRules() []Rule {
	return []Rule{
		{"SW101", SeverityError, "the text is neither YAML nor JSON",
			"The text cannot be read at all. Often a line is indented with a tab, a quote is not closed, or a value with `: ` in it needs quotes.\n\n    bad:   title: Ship: fast\n    good:  title: 'Ship: fast'"},
		{"SW102", SeverityError, "a second document in one file",
			"A file holds one workflow. What follows the line `---` would be ignored, so it is refused. Move it to a file of its own.\n\n    bad:   document: {name: first}\n           ---\n           document: {name: second}\n    good:  document: {name: first}"},
		{"SW103", SeverityError, "a key or an anchor stands twice",
			"Of two equal keys only one could count. Remove one of them. An anchor has a name of its own.\n\n    bad:   set: {a: 1, a: 2}\n    good:  set: {a: 1, b: 2}"},
		{"SW104", SeverityError, "the document is too large, or has something that is not allowed",
			"A document has at most 256 KiB, 20,000 values and 64 levels. Anchors, aliases and merge keys are counted with their values written out: a few of them can make gigabytes. An alias cannot stand inside its own value. Custom tags are not allowed.\n\n    bad:   a: &a [*a]\n    good:  headers: &headers {accept: text/plain}\n           others: *headers"},
		{"SW105", SeverityError, "a character that is not allowed in a document",
			"Documents are UTF-8, with or without a byte order mark, and without control characters; characters that change the direction of text are refused as well. In double quotes, write them as escapes.\n\n    good:  separator: \"\\u001f\""},
		{"SW106", SeverityError, "an unknown property",
			"The property does not exist here, so it would have no effect. Most often it is misspelt, or it is indented one level too far.\n\n    bad:   endpont: https://example.com\n    good:  endpoint: https://example.com"},
		{"SW107", SeverityError, "a required property is missing",
			"Without the property there is nothing to run.\n\n    bad:   call: http\n           with: {endpoint: https://example.com}\n    good:  call: http\n           with: {method: get, endpoint: https://example.com}"},
		{"SW108", SeverityError, "a value of the wrong type",
			"The property takes a value of another type. Text that looks like a number or boolean needs quotes.\n\n    bad:   if: true\n    good:  if: 'true'"},
		{"SW109", SeverityError, "a value that is not among the allowed ones",
			"The property takes one of a few words.\n\n    bad:   output: body\n    good:  output: content"},
		{"SW110", SeverityError, "not a duration",
			"A duration is an object of days, hours, minutes, seconds and milliseconds, ISO 8601 text, or an expression that yields one of them.\n\n    bad:   after: {second: 2}\n    bad:   after: 2s\n    good:  after: {seconds: 2}\n    good:  after: PT2S"},
		{"SW111", SeverityError, "not a semantic version",
			"Versions have three numbers. Another workflow is run in one version, or in the `latest`; a range is not understood.\n\n    bad:   version: 1.0\n    good:  version: 1.0.0"},
		{"SW112", SeverityError, "not a name",
			"Namespaces and names of workflows have at most 63 letters, digits and hyphens, and begin and end with a letter or digit. The method of `call: http` and the names of its headers are words that HTTP allows, and those of environment variables hold no `=`.\n\n    bad:   name: my workflow\n    good:  name: my-workflow\n    bad:   method: GET /orders\n    good:  method: GET"},
		{"SW113", SeverityError, "an object where a list of tasks belongs",
			"Tasks run in the order in which they stand, so they are a list. `swrun lint --fix` makes one.\n\n    bad:   do:\n             greet: {set: {a: 1}}\n    good:  do:\n             - greet: {set: {a: 1}}"},
		{"SW114", SeverityError, "a task with two keywords",
			"A task is of one kind. Make two tasks of it.\n\n    bad:   - greet: {set: {a: 1}, wait: PT1S}\n    good:  - greet: {set: {a: 1}}\n           - pause: {wait: PT1S}"},
		{"SW115", SeverityError, "a task without a keyword",
			"One of call, do, emit, for, fork, listen, raise, run, set, switch, try and wait says what a task does.\n\n    bad:   - greet: {sets: {a: 1}}\n    good:  - greet: {set: {a: 1}}"},
		{"SW116", SeverityError, "another language",
			"swrun runs version 1.x of the DSL. A document for 0.x, with `specVersion` and `states`, or for another tool, with neither `document` nor `do`, is another language, so that nothing else in such a document is checked.\n\n    good:  dsl: 1.0.3"},
		{"SW117", SeverityWarning, "a form that was replaced",
			"The form is understood, but the specification has another one now. `swrun lint --fix` replaces it.\n\n    old:   with: {method: get, uri: https://example.com}\n    new:   with: {method: get, endpoint: https://example.com}"},
		{"SW118", SeverityError, "a timeout in the wrong place",
			"A workflow's timeout stands at the top level, beside `document` and `do`. `swrun lint --fix` moves it.\n\n    bad:   document: {timeout: {after: PT5M}}\n    good:  timeout: {after: PT5M}"},
		{"SW119", SeverityWarning, "a scalar that does not mean what it looks like",
			"In older YAML yes, no, on and off are booleans, 1_000 and 0b101 are numbers, and numbers with a leading zero are octal. Here the words, 1_000 and 0b101 are text, and a leading zero changes nothing. Write true or false, or put text in quotes.\n\n    good:  country: 'no'"},
		{"SW120", SeverityError, "a reserved or impossible name",
			"Names of tasks are printable and not empty. Variables are names of letters, digits and _ and must not hide a built-in argument.\n\n    bad:   for: {each: input, in: .items}\n    good:  for: {each: item, in: .items}"},
		{"SW121", SeverityError, "a list item without exactly one name",
			"Each item of a list of tasks, cases or extensions has exactly one key, its name. Its properties are indented below.\n\n    bad:   - greet:\n             set: {a: 1}\n    bad:   - set: {a: 1}\n    good:  - greet:\n               set: {a: 1}"},
		{"SW122", SeverityError, "not exactly one of several properties",
			"Exactly one of the properties must be there.\n\n    bad:   schema: {document: {}, resource: {endpoint: schema.json}}\n    good:  schema: {document: {}}"},
		{"SW123", SeverityError, "a number out of range", "The number is too small or too large for what it stands for.\n\n    bad:   wait: {seconds: -1}\n    good:  wait: {seconds: 1}"},
		{"SW124", SeverityError, "properties that do not go together",
			"One of the properties has no meaning beside the other, or without it.\n\n    bad:   schedule: {cron: '0 0 * * *', read: data}\n    good:  schedule: {cron: '0 0 * * *'}"},
		{"SW125", SeverityWarning, "a newer version of the language", "The document says that it uses a version of the DSL that came after 1.0.3. What that version added is not known here, and is reported as unknown.\n\n    bad:   dsl: 1.7.0\n    good:  dsl: 1.0.3"},
		{"SW126", SeverityError, "not a URI", "A URI, or a template of one, holds no white space. An expression takes the whole value. `:id`, `<id>` and `%s` are sent as they stand. The endpoint of `call: http` begins with https:// or http:// and has a host, and perhaps a port from 1 to 65535.\n\n    bad:   endpoint: https://example.com/${ .id }\n    good:  endpoint: https://example.com/{id}\n    good:  endpoint: ${ \"https://example.com/\\(.id)\" }"},
		{"SW127", SeverityWarning, "a property of a backoff", "The DSL defines no properties for backoffs; they are accepted and have no effect. A linear delay is n times `delay`, an exponential one 2 to the n times `delay`, so that the first is twice `delay`. Without `delay` and `jitter` it is half a second that grows to two minutes at most.\n\n    bad:   backoff: {exponential: {factor: 3}}\n    good:  backoff: {exponential: {}}"},
		{"SW128", SeverityWarning, "a property that means nothing",
			"The DSL lets this object have any property, but gives a meaning to some only. Most often this one is misspelt.\n\n    bad:   errors: {with: {statuss: 404}}\n    good:  errors: {with: {status: 404}}"},
		{"SW129", SeverityWarning, "an expression of another language",
			"Other tools put expressions in {{ }}, #{ }, $( ) or <% %>. Here that is plain text, which nothing evaluates.\n\n    bad:   set: {name: '{{ .name }}'}\n    good:  set: {name: '${ .name }'}"},
		{"SW130", SeverityError, "text with nothing in it",
			"Empty text, blank text and an empty expression are not values: they stand neither for the default nor for the input. Leave the property out, or say what is meant.\n\n    bad:   if: ''\n    bad:   command: ${ }\n    good:  command: ${ .command }"},
		{"SW131", SeverityWarning, "a property without a value",
			"`null`, and nothing at all, mean that the property is absent. Where nothing follows the colon, something was probably forgotten; `null` says that it was not. No event has an attribute that is null, so a filter for one takes no event.\n\n    bad:   timeout:\n    good:  timeout: {after: PT5S}\n    good:  timeout: null"},
		{"SW132", SeverityWarning, "a task with the name of a flow directive",
			"`then: end`, `then: exit` and `then: continue` are flow directives, wherever a task of that name stands: it runs when the flow reaches it, and nothing can lead to it by name.\n\n    bad:   - end: {set: {done: true}}\n    good:  - finish: {set: {done: true}}"},
		{"SW133", SeverityWarning, "typographic quotes",
			"Word processors and chats turn plain quotes into “ ” and ‘ ’. YAML knows only \" and ': any other is a part of the text.\n\n    bad:   set: {name: “Ada”}\n    good:  set: {name: \"Ada\"}"},
		{"SW134", SeverityWarning, "an object or a list that does nothing",
			"An object without properties, or a list without tasks, says nothing where it stands. Write in it what was meant, or remove it. An empty object or list that means something is not reported: `catch: {}` catches every error, and `any: []` takes every event. Nor does an extension do anything without `before` and `after`, or a `foreach` without `do`, `output` and `export`.\n\n    bad:   do: []\n    good:  do:\n             - greet: {set: {a: 1}}\n    bad:   catch: {retry: {limit: {}}}\n    good:  catch: {retry: {limit: {attempt: {count: 3}}}}"},
	}
}

// compileRules are the rules that the compiler applies.
func compileRules() []Rule {
	return []Rule{
		{"SW801", SeverityError, "not supported yet", "The document is valid, but this version of swrun cannot run this part of it."},
		{"SW802", SeverityError, "an external resource cannot be read", "A literal URI is read when the document is loaded, so that a run never depends on what the URI holds later."},
		{"SW803", SeverityError, "not a usable schema", "Schemas are JSON Schema. Patterns must not look ahead or behind, and a schema must not refer to others outside it."},
		{"SW804", SeverityError, "a port or a volume that cannot be", "`ports` of a container map its ports, such as 80 or 53/udp, to those of the machine, with an address before one or none. `volumes` map folders of the machine, which begin with /, and names of volumes to folders in the container; `:ro` after one keeps it from being written.\n\n    good:  ports: {80: 127.0.0.1:8080}\n    good:  volumes: {/srv/in: '/in:ro', data: /data}"},
		{"SW805", SeverityInfo, "a resource that is not fetched", "validate and lint read nothing from the network unless --fetch asks for it, so that a check never waits for a server, and contacts none. `swrun run` and `swrun deploy` read every literal URI, and check what it holds."},
		{"SW806", SeverityError, "something that a described service does not have",
			"The document that describes a service is read before a run, and says what it can be asked for: its operations, and their parameters. A required parameter must be given a value.\n\n    bad:   operationId: findPetByStatus\n    good:  operationId: findPetsByStatus"},
	}
}
