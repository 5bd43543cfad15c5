package errors

import (
	"net/url"
	"strings"
)

// hiddenUser stands for the user and password of a URL.
const hiddenUser = "xxxxx@"

// MaskURL returns a URL, or text that was meant as one, as a message may show it: without the password, and also without
// the user where it is uncertain which is which.
func MaskURL(text string) string {
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
