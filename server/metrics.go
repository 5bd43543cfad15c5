package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/swrun/swrun/internal/metrics"
)

type metricsAnswer struct {
	ContentType string `header:"Content-Type"`
	Body        []byte `data:"show"`
}

// metricsRoutes serves the metrics of the process and its store, if they are enabled.
func (s *Server) metricsRoutes() {
	if s.config.Metrics == nil {
		return
	}
	route(s, RoleViewer, huma.Operation{
		OperationID: "getMetrics", Method: http.MethodGet, Path: "/metrics", Tags: []string{"health"},
		Summary:  "What this process and its store have counted, for Prometheus",
		Metadata: map[string]any{ofAll: true}, Description: "It counts what is in all namespaces, and so must be the caller's token.",
		Responses: map[string]*huma.Response{"200": {
			Description: "The text format of Prometheus", Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}},
		}},
	}, func(context.Context, *struct{}) (*metricsAnswer, error) {
		text, err := s.config.Metrics.Text()
		return &metricsAnswer{metrics.Form, text}, err
	})
}

// counted counts a request in progress, and its answer once end is called.
func (s *Server) counted() (end func(*exchange)) {
	if s.config.Metrics == nil {
		return func(*exchange) {}
	}
	answered := s.config.Metrics.RequestBegan()
	return func(x *exchange) { answered(x.route, x.status, s.config.Now().Sub(x.began)) }
}
