// Package openapi reads the parts of an OpenAPI document, Swagger 2.0 or OpenAPI 3, that a call of an operation needs, and makes a request of the
// operation.
//
// It reads nothing else of a document, which may come from any source. Mistakes in other parts have no effect, nothing is fetched, and the cost of an
// operation does not grow with the multiplication by references.
package openapi

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/description"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/suggest"
)

// Document is an OpenAPI document.
type Document struct {
	root       map[string]any
	location   *url.URL // nil if it is not known by a URL of http or https
	swagger    bool     // it is of version 2.0
	operations map[string][]place
}

// place is the place of an operation.
type place struct {
	path, method string
	item         map[string]any // the item that contains it
}

// methods are the methods of a path, as they are spelled in documents.
func methods() []string {
	return []string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"}
}

// Parse reads a document, JSON or YAML. Its location is the base URL of relative servers; it may be empty.
func Parse(data []byte, location string) (*Document, error) {
	v, err := description.Decode(data)
	if err != nil {
		return nil, err
	}
	root, _ := v.(map[string]any) // anything else has no version
	d := &Document{root: root, operations: map[string][]place{}}
	version := description.Text(root["openapi"])
	switch unquoted := root["openapi"].(type) {
	case int, float64: // 3.0 is read as 3
		version = fmt.Sprintf("%v.", unquoted)
	}
	switch {
	case description.Text(root["swagger"]) == "2.0" || root["swagger"] == float64(2) || root["swagger"] == 2: // unquoted in YAML
		d.swagger = true
	case strings.HasPrefix(version+".", "3."):
	case version != "":
		return nil, fmt.Errorf("it is of OpenAPI %s; 3.x and Swagger 2.0 can be called", shorten.Quoted(version))
	default:
		return nil, fmt.Errorf("it is no OpenAPI document: it has neither `openapi: 3.x` nor `swagger: \"2.0\"`")
	}
	if u, err := url.Parse(location); err == nil && isHTTP(u) {
		d.location = u
	}
	return d, d.index()
}

// index finds the operations.
func (d *Document) index() error {
	paths := description.Object(d.root["paths"])
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item, err := d.resolve(paths[path])
		if err != nil {
			return fmt.Errorf("the path %s: %w", shorten.Quoted(path), err)
		}
		for _, method := range methods() {
			if id := description.Text(description.Object(item[method])["operationId"]); id != "" {
				d.operations[id] = append(d.operations[id], place{path, method, item})
			}
		}
	}
	return nil
}

// UnknownOperationError reports that the document contains no operation of a name.
type UnknownOperationError struct {
	ID      string
	Nearest string   // the most similar name, or empty
	All     []string // all names
}

// Error names the operation and the similar name.
func (e *UnknownOperationError) Error() string {
	switch {
	case e.Nearest != "":
		return fmt.Sprintf("the OpenAPI document has no operation %s; did you mean %s?", shorten.Quoted(e.ID), shorten.Quoted(e.Nearest))
	case len(e.All) == 0:
		return fmt.Sprintf("the OpenAPI document has no operation %s, nor any other with an operationId", shorten.Quoted(e.ID))
	}
	return fmt.Sprintf("the OpenAPI document has no operation %s", shorten.Quoted(e.ID))
}

// Operation returns the parts of an operation that a call needs. The error may be an *UnknownOperationError.
func (d *Document) Operation(id string) (*Operation, error) {
	places := d.operations[id]
	switch len(places) {
	case 0:
		all := slices.Sorted(maps.Keys(d.operations))
		return nil, &UnknownOperationError{id, suggest.Nearest(id, all), all}
	case 1:
		return d.read(id, places[0])
	}
	return nil, fmt.Errorf("the OpenAPI document has the operation %s %d times", shorten.Quoted(id), len(places))
}

// resolve returns an object, or the target of its reference.
func (d *Document) resolve(v any) (map[string]any, error) { return description.Resolve(d.root, v) }

func isHTTP(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

func isTrue(v any) bool {
	found, _ := v.(bool)
	return found
}
