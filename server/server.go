// Package server is the HTTP API of a deployment: its resources over package control, in the shapes of package api. The document
// /openapi.json describes it, and is made of the same Go types.
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

// Config says what a server serves, and to whom.
type Config struct {
	// Heartbeat is how often those who follow a run hear that nothing has happened; default DefaultHeartbeat.
	Heartbeat time.Duration
	Control   *control.Control
	Authorize Authorize // who asks; without it, nobody may use what is not open
	// AnyHost answers requests for whatever host they name. Otherwise only this machine's own names are answered: it is for servers whose
	// callers need tokens.
	AnyHost  bool
	Requests int // in progress at a time; default DefaultRequests
	Rate     int // requests of one caller a second; default DefaultRate
	// Memory is how many bytes the bodies and the answers of all requests may take together; default DefaultMemory.
	Memory int64
	// BodyWithin is how long the body of a request may take to come; default DefaultBodyWithin.
	BodyWithin time.Duration
	// ReadWithin is how long the store may take for an operation; default DefaultReadWithin.
	ReadWithin time.Duration
	// WriteWithin is how long a caller may take for the next piece of an answer; default DefaultWriteWithin.
	WriteWithin time.Duration
	Metrics     *metrics.Metrics // that are counted and served; nil for none
	// MetricsOnly serves nothing but these, and whether the process and its store answer.
	MetricsOnly bool
	Version     string // of the program
	// TellVersion has each answer say the version. It is for callers who may be told.
	TellVersion bool
	Log         *slog.Logger
	Now         func() time.Time // default time.Now
	NewID       func() string    // random; of runs that requests with an Idempotency-Key start; default rand.Text

	only string // the operation that is served; empty for all
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
	refusals   *rates // of addresses from which wrong tokens come
	polls      polls
	waiting    waiting
}

// maxBody is how many bytes the body of a request may have: the largest input, and what stands around it.
const maxBody = 5 << 20

// New returns a server. It answers as soon as its handler is given requests.
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

// allRoutes adds what there is to be asked, resource by resource.
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

// library returns how the HTTP library is used: strictly, and with no pages of its own.
func (s *Server) library() huma.Config {
	form := huma.Format{Marshal: api.Write, Unmarshal: readJSON}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI:    "3.1.0",
			Info:       &huma.Info{Title: "swrun", Version: cmp.Or(s.config.Version, "(devel)"), Description: "Workflows of the CNCF Serverless Workflow DSL, and their runs."},
			Components: &huma.Components{Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)},
		},
		// "json" stands for every media type that ends in +json.
		Formats:                      map[string]huma.Format{"application/json": form, "json": form},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{libraryProblem},
	}
}

// spanSchema is the schema of an api.Span.
type spanSchema struct{}

// Schema returns it.
func (spanSchema) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Description: "A length of time: a number of seconds, or a text; or none, which null means too.", Examples: []any{"PT1M30S", "2h", 90, "none"},
		OneOf: []*huma.Schema{{Type: huma.TypeNumber}, {Type: huma.TypeString, Nullable: true}},
	}
}

// ServeHTTP answers a request. A panic is a mistake of ours: it is logged, and costs this request alone.
func (s *Server) ServeHTTP(answer http.ResponseWriter, r *http.Request) {
	w, r := s.begin(answer, r)
	counted := s.counted()
	defer func() { s.end(w, r); counted(w) }()
	defer func() {
		if bug := recover(); bug != nil && bug != http.ErrAbortHandler {
			s.log.Error("a request panicked", "panic", fmt.Sprint(bug), "stack", string(debug.Stack()))
			if w.status != 0 { // the caller has a part of another answer: it must not look whole
				panic(http.ErrAbortHandler)
			}
			writeProblem(w, newProblem(http.StatusInternalServerError, "internal", "Internal error", "this is a mistake of swrun: its log says more"))
		}
	}()
	if len(r.TransferEncoding) > 0 { // it may have come with a Content-Length, which the library drops: what follows is not read as a request (RFC 9112, 6.1)
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
		writeProblem(w, p)
		return
	}
	if p := s.misdirected(w, r); p != nil {
		writeProblem(w, p)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// misdirected returns the problem of a request for something that is not there, or asked for in a way that is not there. Paths are taken
// as they are: nothing is cleaned, so that no two spellings mean the same.
func (s *Server) misdirected(w http.ResponseWriter, r *http.Request) *api.Problem {
	if path.Clean(r.URL.Path) != r.URL.Path {
		return notFound(fmt.Sprintf("path %q", r.URL.Path))
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
		return notFound(fmt.Sprintf("path %q", r.URL.Path))
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return methodNotAllowed(r.Method, r.URL.Path)
}

// unclear returns the problem of a request of which it is not certain what it means.
func unclear(w http.ResponseWriter, r *http.Request) *api.Problem {
	if p := repeated(r); p != nil {
		return p
	}
	if p := unmet(r); p != nil {
		return p
	}
	return encoded(w, r)
}

// repeated returns the problem of a query that gives a parameter twice, or none of its value: nobody knows which is meant.
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
