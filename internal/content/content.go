// Package content reads and writes bodies by their content type: JSON as data, text in its charset, and everything else as base64.
package content

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"strings"
	"unsafe"

	"github.com/swrun/swrun/internal/jsonvalue"
)

// Media returns the media type in a Content-Type.
func Media(contentType string) string {
	switch contentType {
	case "application/json", "text/plain": // the usual ones
		return contentType
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, _, _ = strings.Cut(contentType, ";")
		media = strings.ToLower(strings.TrimSpace(media))
	}
	return media
}

// IsJSON reports whether content of a media type is JSON.
func IsJSON(media string) bool {
	switch media {
	case "application/json", "text/json", "application/x-json", "text/x-json":
		return true
	}
	return strings.HasSuffix(media, "+json")
}

// IsText reports whether content of a media type is text, if its bytes are valid text.
func IsText(media string) bool {
	switch media {
	case "", "application/xml", "application/xml-dtd", "application/yaml", "application/x-yaml", "application/toml",
		"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines", "application/jsonlines", "application/json-seq",
		"application/javascript", "application/ecmascript", "application/x-javascript", "application/graphql", "application/sql", "application/x-sh",
		"application/x-www-form-urlencoded":
		return true
	}
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+xml") || strings.HasSuffix(media, "+yaml") || strings.HasSuffix(media, "+json-seq")
}

// Decode reads a body: JSON as data, text as text, an empty body as nil, and everything else as base64. The error describes the fault of the body, as
// the end of a sentence. The caller must not change the body afterwards: the text of the result may share its memory.
func Decode(contentType string, body []byte) (any, error) {
	if len(body) == 0 {
		return nil, nil
	}
	media := Media(contentType)
	isJSON := IsJSON(media)
	if !isJSON && !IsText(media) {
		return base64.StdEncoding.EncodeToString(body), nil
	}
	text, err := Text(contentType, body)
	switch {
	case errors.Is(err, errNoCharset) && !isJSON:
		return base64.StdEncoding.EncodeToString(body), nil
	case err != nil:
		return nil, err
	case len(text) == 0 || isJSON && len(bytes.TrimSpace(text)) == 0:
		return nil, nil
	case isJSON:
		v, err := jsonvalue.Decode(text)
		if err != nil {
			return nil, fmt.Errorf("says that it is JSON, and is not: %w", err)
		}
		return v, nil
	}
	return unsafe.String(&text[0], len(text)), nil
}
