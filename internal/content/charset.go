package content

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode/utf32"

	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
)

// errNoCharset is the error of bytes that are not UTF-8, and have no other charset.
var errNoCharset = errors.New("is not UTF-8, and does not say which charset it is in")

// marks are the byte order marks. The mark of UTF-32 begins with a mark of UTF-16.
func marks() []struct{ bytes, charset string } {
	return []struct{ bytes, charset string }{
		{"\xef\xbb\xbf", "utf-8"}, {"\xff\xfe\x00\x00", "utf-32le"}, {"\x00\x00\xfe\xff", "utf-32be"}, {"\xff\xfe", "utf-16le"}, {"\xfe\xff", "utf-16be"},
	}
}

// Text returns the text of a body as UTF-8, without a byte order mark. A mark takes precedence over the charset of the content type. The error
// describes the fault of the body, as the end of a sentence.
func Text(contentType string, body []byte) ([]byte, error) {
	for _, mark := range marks() {
		if rest, marked := bytes.CutPrefix(body, []byte(mark.bytes)); marked {
			return decode(mark.charset, rest)
		}
	}
	charset := charsetOf(contentType)
	if charset == "" && !isASCII(body) {
		charset = ownCharset(Media(contentType), body)
	}
	switch {
	case charset != "":
		return decode(charset, body)
	case !utf8.Valid(body):
		return nil, errNoCharset
	}
	return body, nil
}

// charsetOf returns the charset that a Content-Type declares, in lower case; empty without one.
func charsetOf(contentType string) string {
	if !strings.Contains(contentType, ";") {
		return ""
	}
	_, parameters, err := mime.ParseMediaType(contentType)
	charset := parameters["charset"]
	if err != nil { // a malformed content type may still contain a charset
		if found := declared().FindStringSubmatch(contentType); found != nil {
			charset = found[1]
		}
	}
	return strings.ToLower(strings.TrimSpace(charset))
}

var (
	declared = lazyregexp.New(`(?i);\s*charset\s*=\s*["']?([^\s"';]+)`)
	ofXML    = lazyregexp.New(`^\s*<\?xml[^>]*\sencoding\s*=\s*["']([^"']+)["']`)
	ofHTML   = lazyregexp.New(`(?i)<meta\s[^>]*charset\s*=\s*["']?\s*([^\s"'/>;]+)`)
)

// maxProlog is the length of the part of a page that may name its charset, in bytes.
const maxProlog = 1024

// ownCharset returns the charset of a body without a declared one, from its beginning: XML and HTML name it, and JSON of two or four bytes a
// character begins with zeros.
func ownCharset(media string, body []byte) string {
	start := body[:min(len(body), maxProlog)]
	var found [][]byte
	switch {
	case IsJSON(media):
		return ofZeros(start)
	case media == "text/html" || media == "application/xhtml+xml":
		if found = ofXML().FindSubmatch(start); found == nil {
			found = ofHTML().FindSubmatch(start)
		}
	case media == "text/xml" || media == "application/xml" || strings.HasSuffix(media, "+xml"):
		found = ofXML().FindSubmatch(start)
	}
	if found == nil {
		return ""
	}
	return strings.ToLower(string(found[1]))
}

// ofZeros returns the charset of a JSON text, whose first two characters are ASCII (RFC 4627, section 3).
func ofZeros(start []byte) string {
	if len(start) < 4 {
		return ""
	}
	zeros := ""
	for _, b := range start[:4] {
		zeros += map[bool]string{true: "0", false: "x"}[b == 0]
	}
	return map[string]string{"000x": "utf-32be", "x000": "utf-32le", "0x0x": "utf-16be", "x0x0": "utf-16le"}[zeros]
}

// FieldText returns the text of an HTTP header. A text that is not UTF-8 is read as ISO 8859-1, which is possible for each header (RFC 9110, section
// 5.5).
func FieldText(value string) string {
	if utf8.ValidString(value) {
		return value
	}
	text, err := charmap.ISO8859_1.NewDecoder().String(value)
	if err != nil {
		return base64.StdEncoding.EncodeToString([]byte(value))
	}
	return text
}

func isASCII(body []byte) bool {
	for _, b := range body {
		if b == 0 || b >= utf8.RuneSelf { // a zero is a part of a wider character
			return false
		}
	}
	return true
}

// decode returns a text in a charset as UTF-8.
func decode(charset string, body []byte) ([]byte, error) {
	e := toRead(charset)
	switch {
	case e == nil && isASCII(body): // ASCII is the same in nearly all charsets
		return body, nil
	case e == nil:
		return nil, fmt.Errorf("declares the charset %s, which is not known here", shorten.Quoted(charset))
	case charset == "utf-8" || charset == "utf8":
		if !utf8.Valid(body) {
			return nil, undecodable(charset)
		}
		return body, nil
	case charset == "utf-16" && len(body) > 1 && body[0] == 0: // without a mark, which is common
		return decode("utf-16be", body)
	}
	text, err := e.NewDecoder().Bytes(body)
	if err != nil {
		return nil, undecodable(charset)
	}
	if bytes.ContainsRune(text, utf8.RuneError) { // it replaces bytes that cannot be decoded, unless it was sent
		if again, err := e.NewEncoder().Bytes(text); err != nil || !bytes.Equal(again, body) {
			return nil, undecodable(charset)
		}
	}
	return text, nil
}

func undecodable(charset string) error {
	return fmt.Errorf("cannot be decoded by its charset %s: some of its bytes are no characters of that", shorten.Quoted(charset))
}

// toRead returns the decoder of a charset. It is the one of browsers, where iso-8859-1 includes windows-1252. It is nil for an unknown charset.
func toRead(charset string) encoding.Encoding {
	if e, err := htmlindex.Get(charset); err == nil && e != encoding.Replacement {
		return e
	}
	return toWrite(charset)
}

// toWrite returns the encoder of a charset, exactly as it is registered. It is nil for an unknown charset.
func toWrite(charset string) encoding.Encoding {
	switch charset {
	case "utf-32", "utf-32be":
		return utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM)
	case "utf-32le":
		return utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM)
	}
	for _, index := range []*ianaindex.Index{ianaindex.MIME, ianaindex.IANA} {
		if e, err := index.Encoding(charset); err == nil && e != nil {
			return e
		}
	}
	return nil
}

// Encode returns a text in the charset that a Content-Type declares; UTF-8 without one. The error contains the reason why that is not possible.
func Encode(contentType, text string) ([]byte, error) {
	charset := charsetOf(contentType)
	if charset == "" || charset == "utf-8" || charset == "utf8" {
		return []byte(text), nil
	}
	e := toWrite(charset)
	if e == nil {
		e, _ = htmlindex.Get(charset) // nil if it is unknown there too
	}
	if e == nil || e == encoding.Replacement {
		return nil, fmt.Errorf("the charset %s is not known here", shorten.Quoted(charset))
	}
	data, err := e.NewEncoder().Bytes([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the charset %s does not have all of its characters", shorten.Quoted(charset))
	}
	return data, nil
}
