package doctor

// Check is one check of doctor, with its explanation.
type Check struct{ Code, Name, Title, Story string }

// CodeSources is the check of the sources of events.
const CodeSources = "SD015"

// CodeSinks is the check of the sinks of events.
const CodeSinks = "SD016"

// CodeLetters is the check of messages that sources could not publish.
const CodeLetters = "SD021"

// CodeDocuments is the check of the documents that swrun serve serves.
const CodeDocuments = "SD018"

// CodeSecrets is the check of the secrets that deployed workflows declare.
const CodeSecrets = "SD022"

// Checks returns all checks, sorted by code.
func Checks() []Check {
	return []Check{
		{"SD001", "store", "whether the store can be opened and written to",
			"Runs are stored in the store of --store, or else of SWRUN_STORE, or else in .swrun/store.db of the project. The folder of the project is\nthe nearest folder, from the working folder upward, that contains a .swrun, a swrun.yaml or a .git. Only one process at a time can open a\nfile; any number of workers share a Redis. Without a store, no run can be started or shown (exit 7)."},
		{"SD002", "durability", "the writes that a crash of the store's server loses",
			"A run is only as durable as the Redis that stores it. With `appendonly no`, a crash loses everything since the last save. With\n`appendfsync everysec`, a crash of the machine loses about a second. With `appendfsync always`, it loses no confirmed write.\n--require-durability everysec or fsync refuses a server that promises less."},
		{"SD003", "memory", "the free memory of the server",
			"A Redis without maxmemory grows until its machine kills it. With maxmemory and the policy noeviction, it refuses writes in time. Above\n80 %, the store accepts no new runs, so that the open runs can end. Delete old runs with swrun worker --retention, or raise maxmemory."},
		{"SD004", "clock", "whether the store's clock agrees with this machine's",
			"Deadlines and leases follow only the store's clock, so that a wrong clock of a worker ends nothing early. People read times by their own\nclocks. Synchronize both with NTP."},
		{"SD005", "latency", "the response time of the store",
			"A durable step takes at least one round trip to the store. More than 20 ms means that the workers are far away from the store, or that\nits server is busy."},
		{"SD006", "indexes", "the statistics of the store",
			"The statistics contain ready, waiting and ended runs, messages on their way, and signs of trouble: lost writes that were confirmed (a\nfailover or a restore), jumps of the server's clock, and repairs of indexes. Repairs without an earlier loss are a bug: please report them.\nAn entry of the registry that its list lacks has no effect, or is not shown. `swrun repair` adds it to the list."},
		{"SD007", "patches", "whether the server has important corrections",
			"Versions of Redis without the corrections of CVE-2025-49844 let a user with the right to run scripts take over the server. Some\ndistributions correct older versions without a new number."},
		{"SD008", "encryption", "whether the connection to the server is encrypted",
			"The data of runs and the password cross the network in plain text. Use rediss://, unless the server and the workers are alone on their\nnetwork."},
		{"SD009", "overdue", "whether runs are overdue",
			"A worker takes a run within milliseconds after the time of its timer, deadline or start. If a run waits for more than five seconds, no\nworker is connected, or all workers are full. The deadlines of the run are kept, but their consequences come late."},
		{"SD010", "workers", "whether there is a worker",
			"Runs continue only while a worker is connected: swrun worker or serve, or swrun run --id for its own run. On Redis, the workers that\nlisten for work are counted. A local file is open in one process only, which is doctor now."},
		{"SD011", "quarantine", "whether runs are quarantined",
			"A run that lost its worker repeatedly at one step is quarantined. Its work stops, so that it cannot take down more workers. Only its\ndeadlines are kept. It stays quarantined until it is released. swrun ls --status quarantined lists such runs, and swrun describe shows the\nstep. Correct the cause of the lost workers, often a lack of memory; then swrun retry continues the run."},
		{"SD012", "versions", "whether all workers have the same version",
			"During an upgrade, workers of two versions share the runs of a deployment. After it, a forgotten old worker lacks the new features and\ncorrections. swrun workers shows the version of each worker."},
		{"SD013", "needs", "whether a worker has the needs of the waiting runs",
			"A task may need a task queue of a worker (metadata.swrun.queue, swrun worker --queue), the permission to run processes\n(--allow-processes), containers (--allow-containers, --allow-volume) or to read files (--allow-files), a secret, an address (--network) or a\nGo function. A worker without it leaves the task to others, and the deadlines hold. Without a suitable worker, the run waits. swrun describe\nshows the needs of a run, and swrun workers shows the resources of each worker."},
		{"SD014", "queues", "whether queues with waiting activities are polled",
			"Activities wait in their queue for an outside worker that polls it (POST /v1/activities/poll of swrun serve). Without a poll for half a\nminute, this check warns. The timeouts of the activities hold. swrun queue ls shows the last polls of each queue. In a paused queue,\nactivities wait in any case, until swrun queue resume."},
		{CodeSources, "sources", "whether the sources read the events of their brokers",
			"swrun serve --events FILE reads events from brokers. While a broker cannot be reached or refuses the client, its events wait there, and the\nserver tries again. While the store accepts no writes, the server tries to publish the current event again. Messages without a CloudEvent are\nkept as dead letters (SD021), acknowledged, and counted as set aside. Only the server with the sources knows their state: swrun doctor does\nnot report it."},
		{CodeSinks, "sinks", "whether the sinks accept their events",
			"swrun serve --events FILE sends lifecycle events to sinks. An event that a sink does not accept is sent again, while later events wait in\nthe store; runs continue. An event that the sink refuses, or does not accept for long (giveUpAfter, by default a day), becomes a dead letter:\nit is logged and counted. The last 200 dead letters of a sink are kept. swrun sink dead-letters lists them, and swrun sink retry sends them\nagain. Only the server that sends to a sink knows whether it accepts events now: GET /v1/health of that server reports it."},
		{"SD017", "schedules", "whether schedules start their runs in time",
			"Deployed workflows with a schedule start within a second while a worker or a server is connected. If a start is more than five seconds\nlate, no worker or server starts its run. Later, metadata.swrun.schedule.missed decides about the missed starts. swrun schedule ls shows the\nnext starts, swrun schedule pause pauses a schedule, and a version of the workflow without a schedule removes it."},
		{CodeDocuments, "documents", "whether every document of the served folders is served",
			"swrun serve FOLDER deploys each document of its folders. A document with errors, or with the version of another document, is not served;\nthe other documents are. Only that server knows its documents: its GET /v1/health reports them. Correct the document, and send SIGHUP to the\nserver."},
		{"SD019", "forms", "whether all stored data can be read",
			"All stored data contain the number of their form. A newer swrun may have written data in a form that this version does not know. It leaves\nthem alone for a newer version. Other data may be damaged by direct changes of the store. A run that cannot be read does not continue, and\nnone of its deadlines fires here. Use the newer version for all workers, or restore the store from a backup. A run that lacks a stored\nactivity is not lost: its worker schedules the activity again."},
		{"SD020", "events", "the namespaces that the events of runs reach",
			"An event that a run emits reaches the runs and schedules of all namespaces, unless a token is limited to some namespaces. Then it reaches\nits own namespace. swrun config set events=all, events=own or events=NAMESPACE,NAMESPACE changes that; with -n, it changes the events of\none namespace."},
		{CodeLetters, "letters", "whether messages of sources could not be published",
			"A message of a broker that contains no CloudEvent, or whose source and id belong to another event, cannot be published. The store keeps it\nas a dead letter, and the server acknowledges it. The newest 100 dead letters of each source are kept for 90 days. swrun events dead ls lists\nthem, get shows one, retry publishes it, and drop removes it. With deadLetters: NAME, a source copies them to its broker instead."},
		{CodeSecrets, "secrets", "whether deployed workflows can read their secrets here",
			"A workflow lists the secrets of its tasks in use.secrets. A worker or server takes their values from --secrets and from the environment,\nand $namespaces in the file of --secrets lists the namespaces that may read a secret. A task with a secret without a value waits for another\nworker that has the value; a task with a secret that is not granted fails. The check reads the latest version of each workflow, 200 documents\nat a time. Only the worker or server knows its secrets: its GET /v1/health reports them, and doctor does if it has the same file."},
	}
}
