package errors

import (
	"net/url"
	"strings"
)

// hiddenUser stands for the user and password of a URL.
const hiddenUser = "xxxxx@"

// MaskURL returns a URL, or what was meant as one, as a message may show it: without the password, and without the user
// where only guessing tells one from the other.
func MaskURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || !plain(u):
		return maskToLastAt(text)
	case u.User != nil:
		return u.Redacted()
	}
	return text
}

// maskToLastAt hides everything between the scheme and the last @: a password may have characters that should have been
// escaped.
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

// plain reports whether it is certain what of a URL is a password, if anything. In redis://user:12/34@host, which was meant
// to have one, user is the host. In URLs of the web without a user, and in files, an @ may as well stand in the path.
func plain(u *url.URL) bool {
	if u.Scheme == "file" || !strings.Contains(u.Host+u.Opaque+u.Path+u.RawQuery+u.Fragment, "@") {
		return true
	}
	return (u.Scheme == "http" || u.Scheme == "https") && u.User == nil && u.Hostname() != "" && !strings.Contains(u.Hostname(), ":")
}
