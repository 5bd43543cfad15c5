package server

import (
	"net/http"
	"strings"

	"github.com/swrun/swrun/internal/api"
)

// This file refuses requests that can only be misunderstood: requests with a condition that cannot be kept, or with a body that the server does not
// decode.

// anything is the entity tag that matches every entity.
const anything = "*"

// unmet returns the problem of a request that depends on an entity tag. The tags of runs are weak: a run continues on its own, so that no tag
// guarantees that nothing has changed.
func unmet(r *http.Request) *api.Problem {
	tags := r.Header.Values("If-Match")
	if len(tags) == 0 || len(tags) == 1 && strings.TrimSpace(tags[0]) == anything {
		return nil
	}
	p := preconditionFailed("nothing here can depend on If-Match: a run goes on by itself")
	p.Help = "leave it out; what is not for a run as it is then is refused anyway"
	return p
}

func preconditionFailed(detail string) *api.Problem {
	return newProblem(http.StatusPreconditionFailed, "precondition-failed", "Precondition failed", detail)
}

// encoded returns the problem of a compressed body: a small body could expand to any size.
func encoded(w http.ResponseWriter, r *http.Request) *api.Problem {
	for _, header := range r.Header.Values("Content-Encoding") {
		for _, coding := range strings.Split(header, ",") {
			if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
				w.Header().Set("Accept-Encoding", "identity")
				return newProblem(http.StatusUnsupportedMediaType, "unsupported-media-type", "Unsupported media type", "the body must be sent as it is, without Content-Encoding")
			}
		}
	}
	return nil
}
