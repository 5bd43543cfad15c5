package remote

import (
	"context"
	"encoding"
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"github.com/swrun/swrun/internal/api"
)

// Ask asks a deployment for an operation. A refusal is an *api.Problem.
func Ask[In, Out any](ctx context.Context, d *Deployment, row api.Operation[In, Out], in *In) (Out, error) {
	return ask[Out](withOperation(ctx, row.ID), d, requestOf(row.Method, row.Path, in))
}

// requestOf returns the request of an operation: the fields of its input with the tags path, query and header, and the field Body.
func requestOf(method, path string, in any) request {
	r := request{method: method, path: path, query: url.Values{}, header: map[string]string{}}
	r.add(reflect.ValueOf(in).Elem())
	return r
}

func (r *request) add(in reflect.Value) {
	for n := range in.NumField() {
		field, value := in.Type().Field(n), in.Field(n)
		switch {
		case field.Anonymous:
			r.add(value)
		case value.IsZero() && field.Tag.Get("path") == "": // it is left out
		case field.Name == "Body":
			r.body = value.Interface()
		case field.Tag.Get("path") != "":
			r.path = strings.ReplaceAll(r.path, "{"+field.Tag.Get("path")+"}", url.PathEscape(textOf(value)))
		case field.Tag.Get("query") != "":
			r.query.Set(field.Tag.Get("query"), textOf(value))
		case field.Tag.Get("header") != "":
			r.header[field.Tag.Get("header")] = textOf(value)
		}
	}
}

// textOf returns the text of a parameter.
func textOf(v reflect.Value) string {
	if text, ok := v.Interface().(encoding.TextMarshaler); ok {
		if data, err := text.MarshalText(); err == nil {
			return string(data)
		}
	}
	return fmt.Sprint(v.Interface())
}
