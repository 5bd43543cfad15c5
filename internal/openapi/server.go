package openapi

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/swrun/swrun/internal/description"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
)

// maxServers is the maximum number of servers of an operation that are tried.
const maxServers = 10

// servers returns the servers of an operation: its own servers, the servers of its path, or the servers of the document.
func (d *Document) servers(operation, item map[string]any) ([]string, error) {
	if d.swagger {
		return d.host(operation)
	}
	for _, holder := range []map[string]any{operation, item, d.root} {
		var all []string
		for _, one := range description.List(holder["servers"]) {
			server := description.Object(one)
			filled, err := fill(description.Text(server["url"]), description.Object(server["variables"]))
			if err != nil {
				return nil, err
			}
			absolute, err := d.absolute(filled)
			if err != nil {
				return nil, err
			}
			all = append(all, absolute)
		}
		if len(all) > 0 {
			return safe(all), nil
		}
	}
	root, err := d.absolute("/")
	return []string{root}, err
}

// safe removes servers without https that would be tried after a server with https.
func safe(all []string) []string {
	secure := false
	return slices.DeleteFunc(all[:min(len(all), maxServers)], func(server string) bool {
		isSecure := strings.HasPrefix(server, "https:")
		leaveOut := secure && !isSecure
		secure = secure || isSecure
		return leaveOut
	})
}

var variable = lazyregexp.New(`\{([^{}]*)\}`)

// fill replaces the variables of a server by their defaults.
func fill(server string, variables map[string]any) (string, error) {
	var missing string
	filled := variable().ReplaceAllStringFunc(server, func(found string) string {
		switch value := description.Object(variables[found[1:len(found)-1]])["default"].(type) {
		case nil:
			missing = found
		case string:
			return value
		default:
			return fmt.Sprint(value)
		}
		return found
	})
	if missing != "" {
		return "", fmt.Errorf("the variable %s of the server %s has no default", shorten.Quoted(missing), shorten.Quoted(server))
	}
	return filled, nil
}

// absolute returns a server's URL without the slash at its end; a relative one starts from the document's URL.
func (d *Document) absolute(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", fmt.Errorf("the server %s is not a URL", shorten.Quoted(server))
	}
	if !u.IsAbs() {
		if d.location == nil {
			return "", fmt.Errorf("the server %s is relative, and the document was not read by http or https: write the whole URL into the document", shorten.Quoted(server))
		}
		u = d.location.ResolveReference(u)
		u.User = nil
	}
	if !isHTTP(u) {
		return "", fmt.Errorf("the server %s is not a URL of http or https", shorten.Quoted(server))
	}
	u.RawQuery, u.Fragment = "", ""
	return strings.TrimRight(u.String(), "/"), nil
}

// host returns the URLs of an operation of Swagger. Without a host, the host of the document's URL is used. If there are several schemes, https is
// used.
func (d *Document) host(operation map[string]any) ([]string, error) {
	schemes := texts(operation["schemes"])
	if len(schemes) == 0 {
		schemes = texts(d.root["schemes"])
	}
	scheme := ""
	switch {
	case slices.Contains(schemes, "https"):
		scheme = "https"
	case slices.Contains(schemes, "http"):
		scheme = "http"
	case len(schemes) > 0:
		return nil, fmt.Errorf("it is called by %s; http and https can be called", shorten.Quoted(schemes[0]))
	}
	host, base := description.Text(d.root["host"]), "/"+strings.TrimLeft(description.Text(d.root["basePath"]), "/")
	if scheme == "" {
		scheme = "https"
		if d.location != nil {
			scheme = d.location.Scheme
		}
	}
	if host == "" {
		if d.location == nil {
			return nil, fmt.Errorf("the document has no host, and was not read by http or https: write `host` into the document")
		}
		host = d.location.Host
	}
	u := url.URL{Scheme: scheme, Host: host, Path: base}
	server, err := d.absolute(u.String())
	return []string{server}, err
}
