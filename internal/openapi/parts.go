package openapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/description"
)

// Parts writes a form in parts without a document, and without nulls.
func Parts(fields map[string]any) (data []byte, contentType string, err error) {
	fields = maps.Clone(fields)
	maps.DeleteFunc(fields, func(_ string, value any) bool { return value == nil })
	return new(Body).parts(fields)
}

// parts writes a form in parts. The boundary is derived from the parts, so that the same form always gives the same text.
func (b *Body) parts(fields map[string]any) (data []byte, contentType string, err error) {
	encoded, err := expr.Encode(fields)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(encoded)
	var text bytes.Buffer
	w := multipart.NewWriter(&text)
	if err := w.SetBoundary("swrun-" + hex.EncodeToString(sum[:])); err != nil {
		return nil, "", err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		for _, value := range each(fields[name]) {
			if err := b.writePart(w, name, value); err != nil {
				return nil, "", err
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return text.Bytes(), w.FormDataContentType(), nil
}

// writePart writes one value. A file gets a name, because servers read a part without a name as text. An object gets the content type of JSON.
func (b *Body) writePart(w *multipart.Writer, name string, value any) error {
	header := textproto.MIMEHeader{}
	media, isFile := b.files[name]
	if isFile {
		header.Set("Content-Disposition", multipart.FileContentDisposition(name, name))
	} else {
		header.Set("Content-Disposition", strings.TrimSuffix(multipart.FileContentDisposition(name, ""), `; filename=""`))
	}
	if _, isObject := value.(map[string]any); isObject && !isFile {
		media = "application/json"
	}
	if media != "" {
		header.Set("Content-Type", media)
	}
	part, err := w.CreatePart(header)
	if err != nil {
		return err
	}
	_, err = part.Write([]byte(plainText(value)))
	return err
}

// file is the default content type of a file.
const file = "application/octet-stream"

// filesOf returns the properties of a form that are files, with their content types.
func (d *Document) filesOf(form map[string]any) map[string]string {
	files := map[string]string{}
	for name, property := range description.Object(form["properties"]) {
		schema, err := d.resolve(property) // a reference out of the document is ignored
		if items, failed := d.resolve(schema["items"]); failed == nil && description.Text(schema["type"]) == "array" {
			schema = items
		}
		media := description.Text(schema["contentMediaType"])
		switch {
		case err != nil:
		case description.Text(schema["format"]) == "binary" && !validMedia(media):
			files[name] = file
		case validMedia(media) && schema["contentEncoding"] == nil:
			files[name] = media
		}
	}
	return files
}
