package explain

import (
	"fmt"
	"strings"
)

// problem is a type of problem with which the HTTP API refuses a request.
type problem struct {
	name  string // the last part of the type's URI
	story string // the event, and the remedy
}

// problems returns all types of problems.
func problems() []problem {
	return []problem{
		{"already-deployed", "Another document or function is deployed under this name and version. What is deployed never changes: choose another version."},
		{"attempt-superseded", "An outside worker reported about an attempt of an activity that does not count any more: another attempt has replaced it, its\ntime is over, or nobody waits for the activity. The newest attempt is the one that counts. What the worker did may have happened all\nthe same: look for the activity's idempotency key at the service before it is done again. The history of the run notes the report\n(result.late) with its task, its attempt, its worker and its kind. The answer says if the history does not note it, and why."},
		{"conflict", "The state of the run or of the store does not allow the request. The detail says why, and the help what is possible."},
		{"cross-origin", "A page of another site sent the request. Call the API from the server's own address, or without a browser."},
		{"damaged-function", "The stored function cannot be read. Delete it, and deploy it again."},
		{"forbidden", "The token does not have the role, or the namespace, that the operation needs."},
		{"foreign-host", "The Host header names no address of this server. Start it with --host NAME to accept that name."},
		{"idempotency-key-reused", "Another request was sent with this Idempotency-Key within a day. Use one key for each request, and the same key only to repeat it."},
		{"internal", "The server failed. Its log has the cause under the id of the request."},
		{"input-refused", "The input.schema of the workflow refuses the input. No run was started. The member errors lists the places that are wrong."},
		{"interrupted", "The server stopped while it waited. Ask again."},
		{"invalid-document", "The document has errors. The member diagnostics lists them with their lines."},
		{"invalid-filter", "The filter of a list cannot be read. The detail says at which word."},
		{"invalid-request", "A member of the request is missing or wrong. The member field names it."},
		{"method-not-allowed", "The path exists, and does not have this method."},
		{"not-acceptable", "The operation cannot answer in a media type that the Accept header names."},
		{"not-deployed", "No such workflow or version is deployed in the store."},
		{"not-ended", "The run goes on, so that it has no output yet, and cannot be deleted."},
		{"not-found", "There is no such thing, or the token does not show it."},
		{"other-event", "Another event was published with the same source and id within a day. An event has an id of its own."},
		{"precondition-failed", "What is to be changed is not what the If-Match header says. Read it again."},
		{"quarantined", "The run has lost too many workers in a row. Its work stands still until it is retried; its deadlines hold."},
		{"request-in-progress", "The first request with this Idempotency-Key is still being carried out. Ask again after a moment."},
		{"request-timeout", "The request did not arrive in time."},
		{"run-cancelled", "The run was cancelled, so that it has no output."},
		{"run-ended", "The run has ended, and what was asked for needs one that goes on."},
		{"run-exists", "The id is taken. Choose another id, or onDuplicate return-existing for a run of the same workflow."},
		{"run-faulted", "The run has faulted, so that it has no output. The member error says why."},
		{"store-unavailable", "The store does not answer, or refuses. Retry-After says when to ask again; swrun doctor says what is wrong."},
		{"token-in-query", "A token in a URL ends up in logs. Send it in the Authorization header."},
		{"too-large", "The request, or a part of it, is larger than it may be. The members limit, value and max say what."},
		{"too-many", "There are too many things of a kind. The members limit, value and max say which."},
		{"too-many-requests", "The caller, or all callers together, have too many requests at a time. Retry-After says when to ask again."},
		{"unreadable", "What is stored of the run, or of what else was named, cannot be read: it is damaged, or a newer swrun has written it. swrun doctor says what to do."},
		{"unauthorized", "The request has no valid token. Send one in the Authorization header."},
		{"unsupported-media-type", "The body has a media type, or an encoding, that the operation does not take."},
	}
}

// problemNamed explains a type of problem by its name or its URI; ok is false for an unknown one.
func problemNamed(name string) (text string, ok bool) {
	short := strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	for _, p := range problems() {
		if p.name == short {
			return fmt.Sprintf("%s (problem of the HTTP API)\n\n%s\n", p.name, p.story), true
		}
	}
	return "", false
}
