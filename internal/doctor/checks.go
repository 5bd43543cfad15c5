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
		{"SD001", "store", "whether the store can be opened, and takes writes",
			"Runs live in the store that --store names, or else SWRUN_STORE, or else in .swrun/store.db of the project: the nearest folder,\nfrom the working folder upward, that has a .swrun, a swrun.yaml or a .git. One process at a time has a file; any number of\nworkers share a Redis. Without a store nothing can be started or looked at (exit 7)."},
		{"SD002", "durability", "what is lost when the server of the store crashes",
			"A run is only as durable as the Redis that keeps it. With `appendonly no` a crash loses everything since the last save; with\n`appendfsync everysec` a crash of the machine loses about a second; with `appendfsync always` nothing that was confirmed.\n--require-durability everysec or fsync refuses a server that promises less."},
		{"SD003", "memory", "how much memory the server has left",
			"A Redis without maxmemory grows until its machine kills it. With maxmemory and the policy noeviction it refuses writes in time:\nfrom 80 % on no new runs are taken, so that those that are there can end. Delete old runs with swrun worker --retention, or\nraise maxmemory."},
		{"SD004", "clock", "whether the store's clock agrees with this machine's",
			"Deadlines and leases follow the store's clock alone, so that a wrong clock of a worker ends nothing early. But people read times\nby their own clocks. Synchronize both with NTP."},
		{"SD005", "latency", "how fast the store answers",
			"A durable step takes at least one answer of the store. More than 20 ms means that the workers are far away from it, or that the\nserver is busy."},
		{"SD006", "indexes", "what the store has counted of itself",
			"Runs that are ready, that wait, and that have ended; messages on their way; and signs of trouble: confirmed writes that were lost\n(a failover or a restore), jumps of the server's clock, and repairs of indexes. Repairs without a loss before them are a bug:\nplease report them. An entry of the registry that its list lacks has no effect, or is not shown: swrun repair adds it to the list."},
		{"SD007", "patches", "whether the server has corrections that matter",
			"Versions of Redis without the corrections of CVE-2025-49844 let a user who may run scripts take over the server. Some\ndistributions correct older versions without changing their number."},
		{"SD008", "encryption", "whether what is sent to the server is encrypted",
			"Runs, and with them what workflows work on, cross the network in plain text, the password too. Use rediss://, unless server and\nworkers are alone on their network."},
		{"SD009", "overdue", "whether runs are overdue",
			"A run whose timer, deadline or start has come is taken by a worker within milliseconds. One that has waited for more than five\nseconds has none, or none with room. Its deadlines are kept: what happens after them comes too late, whenever it is taken."},
		{"SD010", "workers", "whether there is a worker",
			"Runs go on only while a worker runs: swrun worker or serve, or swrun run --id for its own run. On Redis those are counted that\nlisten for work; a local file is open in one process only, which is doctor now."},
		{"SD011", "quarantine", "whether runs are quarantined",
			"A run that has lost its worker again and again at one step is quarantined: its work stops, so that it cannot take down more\nworkers, and only its deadlines are kept. It stays so until somebody releases it. swrun ls --status quarantined lists such runs,\nswrun describe shows the step. Mend what kills the workers, often a lack of memory; then swrun retry lets the run go on."},
		{"SD012", "versions", "whether all workers are of one version",
			"While a deployment is upgraded, workers of two versions share its runs, and that works. Afterwards an old one that was forgotten\nlacks what the new one can do, and its corrections. swrun workers shows which is which."},
		{"SD013", "needs", "whether somebody has what runs wait for",
			"A task may need a task queue that a worker takes (metadata.swrun.queue, swrun worker --queue), the permission to run processes\n(--allow-processes), containers (--allow-containers, --allow-volume) or to read files (--allow-files), a secret, an address (--network) or a Go function. It is left to a worker that has what it needs, while its deadlines hold. If no such worker\nis there, it waits; swrun describe says so of each run, and swrun workers shows what each worker has."},
		{"SD014", "queues", "whether somebody polls the queues in which activities wait",
			"Activities wait in their queue for an outside worker that polls it (POST /v1/activities/poll of swrun serve). If nobody has polled\nfor half a minute, nobody takes them; their timeouts hold. swrun queue ls shows who has polled which queue, and when. In a queue\nthat is paused they wait in any case, until swrun queue resume."},
		{CodeSources, "sources", "whether the sources of events bring what their brokers have",
			"swrun serve --events FILE reads events from brokers. While a broker cannot be reached, or refuses the client, its events wait there and\nit is tried again; while the store takes nothing, the event in hand is tried again. Messages that hold no CloudEvent are kept as dead\nletters (SD021), acknowledged, and counted as set aside. Only the server that reads them knows: swrun doctor does not ask for them."},
		{CodeSinks, "sinks", "whether the sinks of events take what is sent to them",
			"swrun serve --events FILE sends lifecycle events to sinks. What a sink does not take is tried again, while the others wait in the store: runs\ngo on. What it refuses, or does not take for long (giveUpAfter, a day unless set), is a dead letter: it is logged and counted, and the last 200 of a\nsink are kept: swrun sink dead-letters lists them, swrun sink retry sends them again. Whether a sink takes events now only the server knows\nthat sends to it: GET /v1/health of that one says so."},
		{"SD017", "schedules", "whether schedules start their runs in time",
			"Deployed workflows with a schedule start by themselves while a worker or a server is there, within a second. A time that has passed for\nmore than five seconds has nobody who starts its run; once there is, metadata.swrun.schedule.missed says what becomes of it. swrun\nschedule ls shows what is next, swrun schedule pause ends it for a while, and a version without a schedule for good."},
		{CodeDocuments, "documents", "whether every document of the served folders is served",
			"swrun serve FOLDER deploys each document of its folders. One that is wrong, or whose version another document has, is not served, and keeps\nno other from being served. Only that server knows: its GET /v1/health says so. Correct the document, and send SIGHUP to the server."},
		{"SD019", "forms", "whether everything that is stored can be read",
			"Each stored thing says in which form it was written. A newer swrun may have written some in a form that this one does not know: it leaves\nthem alone, for a newer one to go on with. Others may be damaged by a hand that has changed the store. Nothing goes on with a run that\ncannot be read, and none of its deadlines fires here. Use the newer version for all workers, or restore the store from a backup. A run that\nlacks a stored activity is not lost: its worker schedules the activity again."},
		{"SD020", "events", "which namespaces hear what runs emit",
			"An event that a run emits reaches the runs and schedules of all namespaces, unless a token is limited to some: then it reaches its own\nnamespace. swrun config set events=all, events=own or events=NAMESPACE,NAMESPACE says otherwise, with -n for what one namespace emits."},
		{CodeLetters, "letters", "whether messages of sources could not be published",
			"A message of a broker that holds no CloudEvent, or one whose source and id another event has, cannot be published. The store keeps it as a\ndead letter, and the broker is told that it is done; the newest 100 of each source are kept, for 90 days. swrun events dead ls lists them, get\nshows one, retry publishes it, drop forgets it. A source with deadLetters: NAME copies them to its broker instead."},
		{CodeSecrets, "secrets", "whether deployed workflows can read their secrets here",
			"A workflow names the secrets that its tasks read in use.secrets. A worker or server takes their values from --secrets and from the\nenvironment, and $namespaces in the file of --secrets says which namespaces may read one. A task that reads a secret without a value waits\nfor another worker that has it; one that reads a secret which is not granted fails. The latest version of each workflow is looked at, 200\ndocuments at a time. Only the worker or server itself knows its secrets: its GET /v1/health says so, and doctor if that one has the file."},
	}
}
