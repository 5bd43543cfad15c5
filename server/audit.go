package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/audit"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/runtime/store"
)

// This file records the callers of changes.

// LevelAudit is the level of the log lines about the callers of changes. It is above slog.LevelError, so that every level of a log includes them.
const LevelAudit slog.Level = audit.Level

// end records a request that was answered.
func (s *Server) end(x *exchange, r *http.Request) {
	x.allowWrite() // flushes the buffers
	refused := x.status == http.StatusUnauthorized || x.status == http.StatusForbidden
	if !changes(r.Method) || x.caller.Name == "" && !refused || x.unaudited && !refused {
		return
	}
	fields := []any{"actor", x.caller.Name, "operation", x.route, "method", r.Method, "path", shorten.To(r.URL.Path, maxSubject), "status", x.status}
	if x.subject != "" {
		fields = append(fields, "subject", x.subject)
	}
	if x.reason != "" {
		fields = append(fields, "reason", shorten.To(x.reason, maxSubject))
	}
	if x.refusal != "" {
		fields = append(fields, "refusal", shorten.To(x.refusal, maxSubject))
	}
	if x.caller.Name == "" {
		s.log.Warn("a request without a token was refused", append(fields[2:], "from", remoteAddress(r))...)
		return
	}
	audit.Log(r.Context(), s.log, fields...)
}

// concerns notes the changed object of a request for the audit log.
func concerns(ctx context.Context, subject string) {
	exchangeOf(ctx).subject = shorten.To(subject, maxSubject)
}

// maxSubject is the maximum length of a subject, a reason, a refusal and a path in the audit log, in bytes.
const maxSubject = 1000

// concernsRuns notes the runs of a command, and how many of them refused it. A trial changes nothing, and is not noted.
func concernsRuns(ctx context.Context, all []store.Instance, failed []error, dry bool) {
	x := exchangeOf(ctx)
	x.unaudited = x.unaudited || dry
	var names []string
	refused, why := 0, ""
	for n, i := range all {
		if names = append(names, i.String()); failed[n] != nil {
			if refused++; why == "" {
				why = failed[n].Error()
			}
		}
	}
	if refused > 0 {
		x.refusal = fmt.Sprintf("%d of %d refused: %s", refused, len(all), why)
	}
	subject := strings.Join(names, " ")
	if len(all) != 1 {
		subject = fmt.Sprintf("%d: %s", len(all), subject)
	}
	concerns(ctx, subject)
}

// changesNothing takes a request out of the audit log: the object was there already, or it was a trial.
func changesNothing(ctx context.Context) { exchangeOf(ctx).unaudited = true }

// unaudited is in the metadata of operations that change nothing, or that report the result of a request that was recorded elsewhere.
const unaudited = "unaudited"

// changes reports whether requests with a method change something.
func changes(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return true
}

// notedProblem notes the reason of an answer that is a refusal for the audit log.
func notedProblem(ctx huma.Context, _ string, v any) (any, error) {
	if p, ok := v.(*api.Problem); ok {
		exchangeOf(ctx.Context()).refusal = p.Detail
	}
	return v, nil
}
