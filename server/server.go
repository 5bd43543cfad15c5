// Package server is the HTTP API of a deployment: its resources over package control, in the forms of package api. The document /openapi.json
// describes the API, and is generated from the same Go types.
package server

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"reflect"
	"runtime/debug"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/control"
	"github.com/swrun/swrun/internal/metrics"
)

// Config specifies the operations and the callers of a server.
type Config struct {
	// Heartbeat is the interval of the heartbeats of a stream; default DefaultHeartbeat.
	Heartbeat time.Duration
	Control   *control.Control
	Authorize Authorize // identifies callers; without it, only open operations are allowed
	// AnyHost accepts requests for any host. Otherwise only the names of this machine are accepted. It is for servers whose callers need tokens.
	AnyHost  bool
	Requests int // maximum number in progress; default DefaultRequests
	Rate     int // maximum number of requests a second of one caller; default DefaultRate
	// Memory is the maximum memory of the bodies and the answers of all requests, in bytes; default DefaultMemory.
	Memory int64
	// BodyWithin is the time limit of the body of a request; default DefaultBodyWithin.
	BodyWithin time.Duration
	// ReadWithin is the time limit of the store for an operation; default DefaultReadWithin.
	ReadWithin time.Duration
	// WriteWithin is the time limit of the caller for the next piece of an answer; default DefaultWriteWithin.
	WriteWithin time.Duration
	Metrics     *metrics.Metrics // counted and served; nil for none
	// MetricsOnly serves only the metrics, and the probes of the process and its store.
	MetricsOnly bool
	Version     string // of the program
	// TellVersion adds the version to each answer. It is for callers that may know the version.
	TellVersion bool
	Log         *slog.Logger
	Now         func() time.Time // default time.Now
	NewID       func() string    // random; ids of runs that requests with an Idempotency-Key start; default rand.Text

	only string // the only served operation; empty for all
}

// Server answers requests. Several goroutines may use it.
type Server struct {
	config  Config
	control *control.Control
	log     *slog.Logger
	mux     *http.ServeMux
	api     huma.API
	routes  []Route

	origins    http.CrossOriginProtection
	inProgress chan struct{}
	places     *places
	memory     *memory
	rates      *rates // of callers
	refusals   *rates // of addresses that send wrong tokens
	polls      polls
	waiting    waiting
}

// maxBody is the maximum size of a request's body, in bytes: the largest input, and the JSON around it.
const maxBody = 5 << 20

// New returns a server. It is ready to answer requests.
func New(c Config) *Server {
	if c.Authorize == nil {
		c.Authorize = trustNobody
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = rand.Text
	}
	perSecond := cmp.Or(c.Rate, DefaultRate)
	s := &Server{
		config: c, control: c.Control, log: c.Log, mux: http.NewServeMux(),
		inProgress: make(chan struct{}, cmp.Or(c.Requests, DefaultRequests)),
		rates:      newRates("requests a second", perSecond, perSecond, c.Now), refusals: newRates("refused tokens", maxRefusals, maxRefusalsAtOnce, c.Now),
	}
	s.places = &places{most: cap(s.inProgress), of: map[string]int{}, waiting: map[string]int{}}
	s.memory = newMemory(c.memory())
	s.api = humago.New(s.mux, s.library())
	s.api.OpenAPI().Components.Schemas.RegisterTypeAlias(reflect.TypeFor[api.Span](), reflect.TypeFor[spanSchema]())
	s.allRoutes()
	// The library's own type of errors is never sent.
	delete(s.api.OpenAPI().Components.Schemas.Map(), "ErrorModel")
	delete(s.api.OpenAPI().Components.Schemas.Map(), "ErrorDetail")
	return s
}

// allRoutes adds all operations, resource by resource.
func (s *Server) allRoutes() {
	s.healthRoutes()
	s.metricsRoutes()
	if s.config.MetricsOnly {
		return
	}
	s.listRoutes()
	s.runRoutes()
	s.startRoutes()
	s.commandRoutes()
	s.eventRoutes()
	s.publishRoutes()
	s.listenerRoutes()
	s.troubleRoutes()
	s.activityRoutes()
	s.drawingRoutes()
	s.deadlineRoutes()
	s.forkRoutes()
	s.tokenRoutes()
	s.deadlinesRoutes()
	s.workerRoutes()
	s.ruleRoutes()
	s.queueRoutes()
	s.scheduleRoutes()
	s.sinkRoutes()
	s.deadMessageRoutes()
	s.settingsRoutes()
	s.repairRoutes()
	s.workflowRoutes()
	s.functionRoutes()
	s.documentRoutes()
}

// library returns the configuration of the HTTP library: strict, and without pages of its own.
func (s *Server) library() huma.Config {
	form := huma.Format{Marshal: api.Write, Unmarshal: readJSON}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI:    "3.1.0",
			Info:       &huma.Info{Title: "swrun", Version: cmp.Or(s.config.Version, "(devel)"), Description: "Workflows of the CNCF Serverless Workflow DSL, and their runs."},
			Components: &huma.Components{Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)},
		},
		// "json" means every media type that ends in +json.
		Formats:                      map[string]huma.Format{"application/json": form, "json": form},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{libraryProblem, notedProblem},
	}
}

// spanSchema is the schema of an api.Span.
type spanSchema struct{}

// Schema returns the schema.
func (spanSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Description: "A length of time: a number of seconds, or a text; or none, which null means too.", Examples: []any{"PT1M30S", "2h", 90, "none"},
		OneOf: []*huma.Schema{{Type: huma.TypeNumber}, {Type: huma.TypeString, Nullable: true}},
	}
}

// ServeHTTP answers a request. A panic is a bug of swrun: it is logged, and only this request fails.
func (s *Server) ServeHTTP(answer http.ResponseWriter, r *http.Request) {
	w, r := s.begin(answer, r)
	counted := s.counted()
	defer func() { s.end(w, r); counted(w) }()
	defer func() {
		if bug := recover(); bug != nil && bug != http.ErrAbortHandler {
			s.log.Error("a request panicked", "panic", fmt.Sprint(bug), "stack", string(debug.Stack()))
			if w.status != 0 { // the caller has received a part of another answer, which must not look complete
				panic(http.ErrAbortHandler)
			}
			w.writeProblem(newProblem(http.StatusInternalServerError, "internal", "Internal error", "this is a mistake of swrun: its log says more"))
		}
	}()
	if len(r.TransferEncoding) > 0 { // it may have come with a Content-Length, which the library drops: the rest is not read as a request (RFC 9112, 6.1)
		w.Header().Set("Connection", "close")
	}
	if s.config.TellVersion {
		w.Header().Set(api.VersionHeader, s.config.Version)
	}
	leave, p := s.enter(r)
	defer leave()
	if p == nil {
		p = s.admit(r)
	}
	if p != nil {
		w.writeProblem(p)
		return
	}
	if p := s.misdirected(w, r); p != nil {
		w.writeProblem(p)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// misdirected returns the problem of a request for an unknown path, or with an unsupported method. Paths are not cleaned, so that no two spellings
// mean the same.
func (s *Server) misdirected(w http.ResponseWriter, r *http.Request) *api.Problem {
	escaped := r.URL.EscapedPath()
	if err := api.CheckPath(escaped); err != nil {
		return newProblem(http.StatusNotFound, "not-found", "Not found", err.Error())
	}
	if path.Clean(escaped) != escaped { // an escaped slash is a part of a name, which the operation checks
		return notFound(fmt.Sprintf("path %q", escaped))
	}
	if _, pattern := s.mux.Handler(r); pattern != "" {
		return unclear(w, r)
	}
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := s.mux.Handler(other); pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return notFound(fmt.Sprintf("path %q", escaped))
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return methodNotAllowed(r.Method, escaped)
}

// unclear returns the problem of an ambiguous request.
func unclear(w http.ResponseWriter, r *http.Request) *api.Problem {
	if p := repeated(r); p != nil {
		return p
	}
	if p := unmet(r); p != nil {
		return p
	}
	return encoded(w, r)
}

// repeated returns the problem of a query that contains a parameter twice, or without a value: its meaning is not clear.
func repeated(r *http.Request) *api.Problem {
	values, err := parseQuery(r)
	if err != nil {
		return newProblem(http.StatusBadRequest, "invalid-request", "Invalid request", "the query cannot be read: "+err.Error())
	}
	for name, all := range values {
		var message string
		switch {
		case len(all) > 1:
			message = "is given more than once"
		case all[0] == "":
			message = "is empty: leave it out, or give it a value"
		default:
			continue
		}
		p := newProblem(http.StatusUnprocessableEntity, "invalid-request", "Invalid request", fmt.Sprintf("query.%s %s", name, message))
		p.Field = name
		p.Errors = []api.FieldError{{Location: "query." + name, Message: message}}
		return p
	}
	return nil
}
