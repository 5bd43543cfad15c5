package server

import (
	"encoding/base64"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/negotiation"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/runtime/client"
)

// pageLimit returns the parameter limit of the next page.
func pageLimit(p Page) string { return strconv.Itoa(p.Limit) }

// paged returns a page of a complete list in the order of its keys, and the cursor of the next page.
func paged[T any](all []T, p *Page, key func(T) string) (list []T, cursor string, err error) {
	if p.Cursor != "" {
		after, err := base64.RawURLEncoding.DecodeString(p.Cursor)
		if err != nil {
			return nil, "", &client.OptionError{Field: "cursor", Detail: "must be a cursor from a page of this list"}
		}
		n := slices.IndexFunc(all, func(v T) bool { return key(v) > string(after) })
		if n < 0 {
			n = len(all)
		}
		all = all[n:]
	}
	if len(all) > p.Limit {
		all = all[:p.Limit]
		cursor = base64.RawURLEncoding.EncodeToString([]byte(key(all[len(all)-1])))
	}
	return all, cursor, nil
}

// negotiated returns the media type that a caller prefers; the first one without a preference.
func negotiated(accept string, types ...string) (string, error) {
	if accept == "" || accept == "*/*" {
		return types[0], nil
	}
	if chosen := negotiation.SelectQValue(accept, types); chosen != "" {
		return chosen, nil
	}
	for _, part := range strings.Split(accept, ",") {
		part, _, _ = strings.Cut(part, ";")
		for _, t := range types {
			group, _, _ := strings.Cut(t, "/")
			if part = strings.TrimSpace(part); part == "*/*" || part == group+"/*" {
				return t, nil
			}
		}
	}
	return "", newProblem(http.StatusNotAcceptable, "not-acceptable", "Not acceptable", "there is "+strings.Join(types, ", "))
}

// schemaOf returns the schema of a type of package api.
func schemaOf[T any](s *Server) *huma.Schema {
	t := reflect.TypeFor[T]()
	return s.api.OpenAPI().Components.Schemas.Schema(t, true, t.Name())
}

func problemContent(s *Server) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{api.ProblemMediaType: {Schema: schemaOf[api.Problem](s)}}
}
