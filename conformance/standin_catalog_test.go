package conformance

import (
	"io"
	"net/http"
)

// logFunction is log:1.0.0 of the specification's catalog, without the program that formats.
const logFunction = `
input:
  schema:
    document: {type: object, required: [message], properties: {message: {type: string}, level: {type: string, enum: [information, warning, error]}, timestamp: {type: boolean}}}
output: {schema: {document: {type: string}}}
set: '${ "[\(.level)] \(.message)" }'
`

// cataloged answers for the specification's catalog.
func cataloged(mux *http.ServeMux) {
	mux.HandleFunc("raw.githubusercontent.com/serverlessworkflow/catalog/main/functions/log/1.0.0/function.yaml", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, logFunction)
	})
	for path, text := range map[string]string{
		"/functions/greet/1.0.0/function.yaml": "set: {from: guarded}\n", "/schema.json": `{"type": "array"}`, "/hello.js": "console.log('guarded')\n",
	} {
		mux.HandleFunc("catalog.test"+path, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer t0ken" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, _ = io.WriteString(w, text)
		})
	}
}
