package conformance

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/swrun/swrun/errors"
)

// standIn answers for every host, without a network.
func standIn() http.RoundTripper { return answering{sync.OnceValue(standInHandler)} }

// answering answers outgoing requests with a handler.
type answering struct {
	handler func() http.Handler // it takes long to make, and most cases send nothing
}

func (a answering) RoundTrip(sent *http.Request) (*http.Response, error) {
	received := sent.Clone(sent.Context())
	if received.Body == nil {
		received.Body = http.NoBody
	}
	received.Host, received.RequestURI = sent.URL.Host, sent.URL.RequestURI()
	answer := httptest.NewRecorder()
	a.handler().ServeHTTP(answer, received)
	if err := context.Cause(sent.Context()); err != nil {
		return nil, err
	}
	if answer.Header().Get(refused) != "" {
		return nil, errors.New("connection refused")
	}
	response := answer.Result()
	response.Request = sent
	return response, nil
}

// refused is the header with which a handler signals that there is no answer at all.
const refused = "X-Refused"

// standInHandler answers for the hosts of the specification's features and for `stand-in.test`, whose paths select the behaviour.
func standInHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", echo)
	mux.HandleFunc("/echo/{rest...}", echo)
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.PathValue("code")) // 0 is not a status: the test would fail
		http.Error(w, "status "+r.PathValue("code"), code)
	})
	mux.HandleFunc("/text", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "hello")
	})
	mux.HandleFunc("/bytes", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write([]byte{0, 1, 2})
	})
	mux.HandleFunc("/empty", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/broken-json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{")
	})
	mux.HandleFunc("/large-number", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		_, _ = io.WriteString(w, `{"id":9007199254740993}`)
	})
	mux.HandleFunc("/marked-json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "\ufeff{\"id\":1}")
	})
	mux.HandleFunc("/encoded", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "br")
		_, _ = w.Write([]byte{0x0b, 0x02, 0x80})
	})
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/echo", http.StatusFound) })
	mux.HandleFunc("/redirect-for-ever", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/redirect-for-ever", http.StatusFound)
	})
	mux.HandleFunc("/refused", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(refused, "yes") })
	mux.HandleFunc("/digest", digest)
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	petstore(mux)
	contents(mux)
	others(mux)
	described(mux)
	cataloged(mux)
	conversing(mux)
	speakingA2A(mux)
	announced(mux)
	calledByGRPC(mux)
	authorizing(mux)
	return mux
}

// echo answers with its request.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // the answer shows a broken body
	headers := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if name == "Content-Type" || name == "Swrun-Deadline" || strings.HasPrefix(name, "X-") && name != "X-Swrun-Attempt" {
			headers[name] = strings.Join(r.Header[name], ", ")
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"method": r.Method, "path": r.URL.EscapedPath(), "query": r.URL.RawQuery, "headers": headers, "body": string(body),
		"authorization": r.Header.Get("Authorization"), "keyed": r.Header.Get("Idempotency-Key") != "",
	})
}

// digest requests a digest of ada's password, and answers a correct one with the user's name.
func digest(w http.ResponseWriter, r *http.Request) {
	given := r.Header.Get("Authorization")
	if !strings.HasPrefix(given, "Digest ") || !strings.Contains(given, `username="ada"`) || !strings.Contains(given, "response=") {
		w.Header().Set("WWW-Authenticate", `Digest realm="stand-in", nonce="abc", qop="auth", algorithm=SHA-256`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"digest":"ada"}`)
}

// petstore answers the requests of the specification's features to petstore.swagger.io and httpbin.org.
func petstore(mux *http.ServeMux) {
	pet := map[string]any{"id": 1, "name": "Milou", "status": "available", "photoUrls": []string{}, "category": map[string]any{"id": 1, "name": "dog"}}
	mux.HandleFunc("/v2/pet/{id}", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.PathValue("id"))
		if err != nil {
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		if id == http.StatusServiceUnavailable {
			w.WriteHeader(id)
			return
		}
		if id == 7 && r.Header.Get("Authorization") != "Bearer t0ken" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if !maySee(id, r) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Method != http.MethodGet {
			http.NotFound(w, r) // as the real server, which has PUT only at /v2/pet
			return
		}
		found := maps.Clone(pet)
		found["id"] = id
		answer(found)(w, r)
	})
	mux.HandleFunc("/v2/pet/getPetByName/{name}", http.NotFound)
	mux.HandleFunc("/v2/pet/findByStatus", answer([]any{pet}))
	mux.HandleFunc("/basic-auth/{user}/{password}", func(w http.ResponseWriter, r *http.Request) {
		want := "Basic " + base64.StdEncoding.EncodeToString([]byte(r.PathValue("user")+":"+r.PathValue("password")))
		if r.Header.Get("Authorization") != want {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answer(map[string]any{"authenticated": true, "user": r.PathValue("user")})(w, r)
	})
}

// others answers the requests of the specification's examples to further hosts.
func others(mux *http.ServeMux) {
	sent := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // the answer shows a broken body
		answer(map[string]any{"sent": string(body)})(w, r)
	}
	mux.HandleFunc("superbet-casinos.com/api/bet/on/football", sent)
	mux.HandleFunc("fake-hospital.com/api/v3/alert/{who}", sent)
	mux.HandleFunc("example.com/api/v1/backup/start", sent)
	mux.HandleFunc("hospital.example.com/api/v1/notify", sent)
	mux.HandleFunc("external-service.example.com/api", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	mux.HandleFunc("swapi.dev/api/people/{$}", func(w http.ResponseWriter, r *http.Request) {
		answer(map[string]any{"search": r.URL.RawQuery, "accept": r.Header.Get("Accept")})(w, r)
	})
	mux.HandleFunc("swapi.dev/api/people/{id}", answer(map[string]any{"homeworld": "https://swapi.dev/api/planets/1"}))
	mux.HandleFunc("swapi.dev/api/planets/1", answer(map[string]any{"name": "Tatooine"}))
}

// answer answers with v as JSON.
func answer(v any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
}
