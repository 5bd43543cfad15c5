package errors

import (
	"net/url"
	"strings"

	"github.com/swrun/swrun/internal/lazyregexp"
)

// hiddenUser replaces the user and password of a URL, hiddenValue the value of a parameter.
const (
	hiddenUser  = "xxxxx@"
	hiddenValue = "xxxxx"
)

// secretParameters finds parameters of a query, or of a fragment, that may contain a password or a token. A name with escapes may be any name.
var secretParameters = lazyregexp.New(`(?i)([?&;#][^=&;#\s]*(?:pass|pwd|pw|secret|token|key|auth|cred|sig|%)[^=&;#\s]*=)[^&]*`)

// MaskURL returns a URL, or text that was meant as one, in the form for messages. It hides the password, also a password in a parameter. It hides the
// user too if it is uncertain which part is the password.
func MaskURL(text string) string {
	return maskUser(secretParameters().ReplaceAllString(text, "${1}"+hiddenValue))
}

// maskUser hides the user and the password before the host.
func maskUser(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || !isUnambiguous(u):
		return maskToLastAt(text)
	case u.User != nil:
		return u.Redacted()
	}
	return text
}

// maskToLastAt hides everything between the scheme and the last @, because a password may contain characters that should
// have been escaped.
func maskToLastAt(text string) string {
	at := strings.LastIndex(text, "@")
	if at < 0 {
		return text
	}
	scheme, _, ok := strings.Cut(text[:at], "://")
	if !ok || strings.ContainsAny(scheme, ":/?#@") {
		return hiddenUser + text[at+1:]
	}
	return scheme + "://" + hiddenUser + text[at+1:]
}

// isUnambiguous reports whether it is certain which part of a URL is the password, if any. In redis://user:12/34@host, "user"
// is parsed as the host although a password was meant. In web URLs without a user, and in files, an @ may be part of the path.
func isUnambiguous(u *url.URL) bool {
	if u.Scheme == "file" || !strings.Contains(u.Host+u.Opaque+u.Path+u.RawQuery+u.Fragment, "@") {
		return true
	}
	return (u.Scheme == "http" || u.Scheme == "https") && u.User == nil && u.Hostname() != "" && !strings.Contains(u.Hostname(), ":")
}
