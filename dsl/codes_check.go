package dsl

// checkRules are the rules that Check applies.
func checkRules() []Rule {
	return []Rule{
		{"SW201", SeverityError, "a flow directive that leads nowhere",
			"`then` names a task of the same list, or is continue, exit or end. Tasks of other lists and of other branches cannot be reached.\n\n    bad:   then: shipp\n    good:  then: ship"},
		{"SW202", SeverityWarning, "a task that nothing leads to",
			"The task before it always goes elsewhere, and no `then` names this one. Remove it, or lead the flow to it.\n\n    bad:   - stop: {set: {a: 1}, then: end}\n           - never: {set: {a: 2}}"},
		{"SW203", SeverityError, "a name that is not defined under use",
			"Timeouts, retry policies, errors, functions, authentications and secrets are defined under `use` and named elsewhere.\n\n    good:  use: {timeouts: {short: {after: PT2S}}}\n           ... timeout: short"},
		{"SW204", SeverityError, "names and cases that clash",
			"Of two tasks with one name in a list, `then` could mean only one, so this is an error; so are two default cases. A default case before other cases, and a switch without one, are warnings."},
		{"SW205", SeverityInfo, "a definition that is not used", "What is defined under `use` and named nowhere in the document has no effect. Remove it, or name it where it was meant to be used."},
		{"SW206", SeverityWarning, "a loop that nothing ends", "`then` leads back, and nothing on the way waits or decides. Add a switch that leaves it, or a wait."},
		{"SW301", SeverityWarning, "a timeout that never fires", "A timeout around it is shorter or as long, so that one always comes first. Make this one shorter, or remove it. The same is said of a run timeout and a soft deadline that are not shorter than the timeout of their scope."},
		{"SW302", SeverityWarning, "a scope that always times out", "The waits inside take at least as long as the timeout.\n\n    bad:   {wait: PT10S, timeout: {after: PT5S}}"},
		{"SW303", SeverityWarning, "a catch of the workflow's timeout", "A workflow's timeout ends the whole workflow; nothing inside it can catch that. Give the task that may take too long a timeout of its own."},
		{"SW304", SeverityWarning, "a catch of the try's own timeout",
			"The timeout of a try task covers its attempts, retries and catch; when it fires, the error is raised outside the try, and its own catch does not see it. Move the timeout to a task inside, or catch it one level up."},
		{"SW305", SeverityWarning, "retries that do not fit", "The delays between the retries add up to more than the time there is, so that the last retries never start. Of an activity, `scheduleToClose` is such a time. Retry fewer times, wait less, or allow more time."},
		{"SW306", SeverityWarning, "retries without an end", "A policy without a limit retries for ever. Set limit.attempt.count, limit.duration, or a timeout around the try."},
		{"SW307", SeverityInfo, "something that may take for ever", "Calls, processes and listeners take as long as the other side wants. A timeout on the task, on something around it, or on the workflow bounds them."},
		{"SW308", SeverityWarning, "an odd duration", "A timeout of zero fires at once, one of less than 100 milliseconds before most calls are answered; a delay longer than the limit of all attempts, a first delay longer than the longest, and a jitter that runs backward, cannot be meant."},
		{"SW309", SeverityInfo, "a bound that depends on the data", "The timeout of a loop covers all of its passes, whose number is only known at run time. Branches that lose a race are stopped wherever they are, and what they have done outside stays done."},
		{"SW310", SeverityWarning, "a list of delays without effect, or instead of another",
			"`metadata.swrun.backoffList` of a try lists the delays before its retries; the last one also counts for the retries that follow. It needs a policy, and takes the place of that policy's `delay` and `backoff`.\n\n    good:  - pay:\n             metadata: {swrun: {backoffList: [PT1S, PT5S, PT1M]}}\n             try: [...]\n             catch: {retry: {limit: {attempt: {count: 5}}}}"},
		{"SW311", SeverityWarning, "a part of an activity's retry without effect",
			"`maxAttempts` counts the first attempt too. With one attempt nothing is tried again, so that neither delays nor types matter; a list of delays needs one less than there are attempts.\n\n    bad:   retry: {maxAttempts: 1, backoff: [PT5S]}\n    good:  retry: {maxAttempts: 2, backoff: [PT5S]}"},
		{"SW401", SeverityError, "a catch of an error type that does not exist",
			"The filter compares the whole URI of the type, so that a misspelt one never matches.\n\n    bad:   type: https://serverlessworkflow.io/spec/1.0.0/errors/timout\n    bad:   type: timeout\n    good:  type: https://serverlessworkflow.io/spec/1.0.0/errors/timeout"},
		{"SW402", SeverityWarning, "a catch that never matches", "Nothing in the try can raise what the filter selects: for example a timeout where nothing has one, or a standard type with another type's status."},
		{"SW403", SeverityInfo, "an older spelling of an error type", "Standard types have been published under several URIs. All of them match; the one of the specification's table is the one to write."},
		{"SW404", SeverityWarning, "conditions or members that contradict each other", "A standard type has the status of the specification's table; `when` and `exceptWhen` that are the same let nothing through."},
		{"SW405", SeverityInfo, "a catch that swallows everything", "An empty catch hides every error, also those that you did not think of. Filter them, or do something about them."},
		{"SW406", SeverityInfo, "an error type that is compared as text",
			"Standard types have been published under several URIs, and which of them is raised is a setting of the engine. A filter matches all of them; an expression that compares text matches only one.\n\n    bad:   when: .type == \"https://serverlessworkflow.io/spec/1.0.0/errors/timeout\"\n    good:  errors: {with: {type: https://serverlessworkflow.io/spec/1.0.0/errors/timeout}}"},
		{"SW407", SeverityWarning, "a misspelt type in `nonRetryable`",
			"`nonRetryable` lists types of errors after which an activity is not attempted again: URIs, short names of standard types, and types of the worker's own. One that is almost a standard type is probably misspelt, and the activity is attempted again after the error that was meant.\n\n    bad:   nonRetryable: [validaton]\n    good:  nonRetryable: [validation]"},
		{"SW501", SeverityError, "not a jq expression", "Expressions are jq programs.\n\n    bad:   ${ .status + }\n    good:  ${ .status + 1 }"},
		{"SW502", SeverityError, "a jq function that is not there", "The function does not exist, or is not available in workflows: the environment, further inputs and modules are out of reach."},
		{"SW503", SeverityError, "a variable that is not there", "Loop variables exist inside their loop, error variables inside their catch. `$context`, `$input`, `$output`, `$secrets`, `$task`, `$workflow` and `$runtime` exist everywhere."},
		{"SW504", SeverityWarning, "text that looks like an expression", "In data, only a value that is `${ ... }` as a whole is evaluated. The input is `.` in it, not `$`.\n\n    bad:   set: {name: .user.name}\n    good:  set: {name: '${ .user.name }'}\n    bad:   set: {text: 'Hello ${ .name }'}\n    good:  set: {text: '${ \"Hello \\(.name)\" }'}"},
		{"SW505", SeverityWarning, "a field that the input's schema rules out", "The schema of the input allows no other properties, so that the expression always reads null."},
		{"SW506", SeverityWarning, "a condition that depends on the clock",
			"The output of a task is stored with the run. The result of a condition is not, so that it may differ when a step is repeated after a crash.\n\n    bad:   if: now < .until\n    good:  - ask: {set: {late: '${ now >= .until }'}}\n           - act: {if: .late, ...}"},
		{"SW601", SeverityWarning, "a secret that would be stored", "A secret that stands in the document can be read by everyone who sees it. One that becomes data of the run is hidden wherever the run is kept or shown, but what an expression computes from it, such as a part or a digest, is not. Events, inputs of other runs and arguments of processes are read by others; events and inputs that hold a secret are refused. Declare secrets in use.secrets and use them only where they are sent."},
		{"SW602", SeverityWarning, "a secret that is not declared", "A workflow may only read the secrets that it declares; a task that names another one fails.\n\n    good:  use: {secrets: [api]}"},
		{"SW603", SeverityWarning, "data that becomes code, or decides which host is called",
			"Who controls the data then controls what is run. Pass data as arguments, environment or standard input, and write scheme and host of a URI literally. A host that depends on data is reported only as information.\n\n    bad:   run: {shell: {command: '${ \"rm \" + .file }'}}\n    good:  run: {shell: {command: 'rm \"$1\"', arguments: ['${ .file }']}}"},
		{"SW701", SeverityWarning, "events that are not correlated",
			"A correlation ties the events of one listener to each other, or to a value of the instance. A filter of `all` without the key takes events of any instance, and a single event without `expect` is tied to nothing.\n\n    good:  correlate: {order: {from: .data.orderId, expect: '${ .orderId }'}}"},
		{"SW702", SeverityWarning, "something that does not exist when events start a workflow", "The input of a workflow that events start is a list of their data, unless `read` asks for more; each match starts an instance, so that there is nothing for `until` to end.\n\n    bad:   id: ${ $workflow.input[0].data.id }\n    good:  id: ${ $workflow.input[0].id }"},
		{"SW703", SeverityError, "not a cron expression",
			"A cron expression has five fields: minute, hour, day of the month, month and day of the week. Each is *, a number, a range 1-5, a step */15, or a list of these; months and days have names too. Where both days are limited, either suffices. L, 15W and FRI#2 are the last day, the working day nearest to a day, and the second Friday. @daily and its like are known. CRON_TZ=Europe/Paris before it says in which time zone; otherwise it is UTC.\n\n    bad:   schedule: {cron: '0 0 12 * * *'}\n    good:  schedule: {cron: '0 12 * * *'}"},
		{"SW704", SeverityError, "a schedule that cannot be followed", "A schedule has at least one of every, cron, after and on, whose `all` names at least one event; runs start at most once a second; and metadata.swrun.schedule.timeZone, for cron, is a name of the IANA database such as Europe/Paris.\n\n    bad:   schedule: {every: PT0.1S}\n    good:  schedule: {every: PT1M}"},
		{"SW705", SeverityWarning, "a schedule that starts itself", "An event that a workflow emits starts runs as any other does. If each run emits one that its own schedule takes, each starts the next, and that never ends. Give the event another type, or let the filter ask for what tells the events of others from its own.\n\n    bad:   schedule: {on: {one: {with: {type: order.changed}}}}\n           do: [{tell: {emit: {event: {with: {type: order.changed}}}}}]\n    good:  do: [{tell: {emit: {event: {with: {type: order.told}}}}}]"},
		{"SW706", SeverityWarning, "a listener for events of the engine", "What runs do is told by lifecycle events, whose types begin with io.serverlessworkflow. They go to sinks, to streams and to `swrun events tail`, and not to runs: a run that listens for them, or a schedule, gets those only that somebody publishes. Have the other workflow emit an event, or have a sink send lifecycle events to a broker and a source bring them back.\n\n    bad:   listen: {to: {one: {with: {type: io.serverlessworkflow.workflow.completed.v1}}}}\n    good:  listen: {to: {one: {with: {type: report.made}}}}"},
	}
}

// commentRules are the rules about comments that suppress diagnostics.
func commentRules() []Rule {
	return []Rule{
		{"SW901", SeverityInfo, "an ignore without a reason", "A comment hides a finding on its own line or the next. The reason tells readers why that is right.\n\n    good:  # swrun:ignore SW307 the server closes after 10 s"},
		{"SW902", SeverityInfo, "an ignore that ignores nothing", "The finding that the comment is for is gone, so that the comment can go too. Errors cannot be ignored.\n\n    good:  no comment"},
	}
}
