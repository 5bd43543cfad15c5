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
		{"already-deployed", "Another document or function is deployed under this name and version. Deployed documents never change. Choose another version."},
		{"attempt-superseded", "An outside worker reported about an attempt of an activity that no longer counts: another attempt replaced it, its time is over, or the\nactivity is no longer needed. Only the newest attempt counts. The worker may have done its work anyway. Look for the activity's\nidempotency key at the service before you repeat the work. The history of the run notes the report (result.late) with its task, attempt,\nworker and kind. If the history does not note the report, the answer contains the reason."},
		{"conflict", "The state of the run or of the store does not allow the request. The detail contains the reason, and the help lists the possible requests."},
		{"cross-origin", "A page of another site sent the request. Call the API from the server's own address, or without a browser."},
		{"damaged-function", "The stored function cannot be read. Delete it, and deploy it again."},
		{"forbidden", "The token lacks the role or the namespace for the operation."},
		{"foreign-host", "The Host header names no address of this server. Start it with --host NAME to accept that name."},
		{"idempotency-key-reused", "Another request was sent with this Idempotency-Key within a day. Use one key for each request, and the same key only to repeat it."},
		{"internal", "The server failed. Its log contains the cause under the id of the request."},
		{"input-refused", "The input.schema of the workflow refuses the input. No run was started. The member errors lists the wrong places."},
		{"interrupted", "The server stopped while it waited. Ask again."},
		{"invalid-document", "The document has errors. The member diagnostics lists them with their lines."},
		{"invalid-filter", "The filter of a list cannot be read. The detail names the wrong word."},
		{"invalid-request", "A member of the request is missing or wrong. The member field names it."},
		{"method-not-allowed", "The path exists, but does not support this method."},
		{"not-acceptable", "The operation cannot answer in a media type of the Accept header."},
		{"not-deployed", "No such workflow or version is deployed in the store."},
		{"not-ended", "The run is open. It has no output yet, and cannot be deleted."},
		{"not-found", "The object does not exist, or the token does not show it."},
		{"other-event", "Another event was published with the same source and id within a day. Give each event its own id."},
		{"precondition-failed", "The version of the object differs from the If-Match header. Read the object again."},
		{"quarantined", "The run lost too many workers in a row. Its work stops until it is retried; its deadlines hold."},
		{"request-in-progress", "The first request with this Idempotency-Key is in progress. Ask again after a moment."},
		{"request-timeout", "The request did not arrive in time."},
		{"run-cancelled", "The run was cancelled, so that it has no output."},
		{"run-ended", "The run is closed, and the operation needs an open run."},
		{"run-exists", "The id is taken. Choose another id, or onDuplicate return-existing for a run of the same workflow."},
		{"run-faulted", "The run is faulted, so that it has no output. The member error contains the reason."},
		{"starting", "The server deploys the documents of its folders, and the requested workflow is not deployed yet. Retry-After contains the time to wait."},
		{"store-unavailable", "The store does not answer, or refuses. Retry-After contains the time to wait before the next request; swrun doctor names the cause."},
		{"token-in-query", "A token in a URL ends up in logs. Send it in the Authorization header."},
		{"too-large", "The request, or a part of it, is too large. The members limit, value and max name the limit, the size and the maximum."},
		{"too-many", "There are too many objects of a kind. The members limit, value and max name the limit, the number and the maximum."},
		{"too-many-requests", "The caller, or all callers together, have too many requests at a time. Retry-After contains the time to wait before the next request."},
		{"unreadable", "The stored data of the run, or of another named object, cannot be read. They are damaged, or a newer swrun has written them. swrun doctor names the\nremedy."},
		{"unauthorized", "The request has no valid token. Send one in the Authorization header."},
		{"unsupported-media-type", "The operation does not accept the media type or the encoding of the body."},
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
