package conformance

import (
	"io"
	"net/http"
)

// petstoreDocument is the document of petstore.swagger.io, with the operations that the specification's features call.
const petstoreDocument = `{
  "swagger": "2.0", "info": {"title": "Petstore", "version": "1.0.7"}, "host": "petstore.swagger.io", "basePath": "/v2", "schemes": ["https", "http"],
  "paths": {
    "/pet/findByStatus": {"get": {"operationId": "findPetsByStatus", "produces": ["application/json"], "responses": {"200": {"description": "found"}},
      "parameters": [{"name": "status", "in": "query", "required": true, "type": "array", "collectionFormat": "multi",
        "items": {"type": "string", "enum": ["available", "pending", "sold"], "default": "available"}}]}},
    "/pet/{petId}": {"get": {"operationId": "getPetById", "responses": {"200": {"description": "found"}},
      "parameters": [{"name": "petId", "in": "path", "required": true, "type": "integer", "format": "int64"}]}}
  }
}`

// ordersDocument is the document that the specification's example of orders names.
const ordersDocument = `{
  "openapi": "3.0.3", "info": {"title": "Orders", "version": "1"}, "servers": [{"url": "/api"}],
  "paths": {
    "/readings": {"post": {"operationId": "logreading", "responses": {"204": {"description": "logged"}}}},
    "/reports": {"get": {"operationId": "produceReport", "responses": {"200": {"description": "a report"}}}}
  }
}`

// described answers for the services that OpenAPI documents describe. The services under `stand-in.test` are files of the cases.
func described(mux *http.ServeMux) {
	document := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, text)
		}
	}
	mux.HandleFunc("petstore.swagger.io/v2/swagger.json", document(petstoreDocument))
	mux.HandleFunc("myorg.io/ordersservices.json", document(ordersDocument))
	mux.HandleFunc("guarded.test/openapi.json", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t0ken" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		document(`{"openapi": "3.0.3", "servers": [{"url": "/echo"}], "paths": {"/pet": {"get": {"operationId": "getPet"}}}}`)(w, r)
	})
	mux.HandleFunc("/busy/{rest...}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	mux.HandleFunc("myorg.io/api/readings", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("myorg.io/api/reports", answer(map[string]any{"report": "done"}))
}
