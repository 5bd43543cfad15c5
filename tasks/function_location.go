package tasks

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/swrun/swrun/dsl"
	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/lazyregexp"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/interpreter"
)

// catalogScheme is the scheme of the content of the default catalog, regardless of its place: catalog:/functions/log/1.0.0/function.yaml.
const catalogScheme = "catalog"

// catalogedName matches valid names of functions of a catalog. The name is a folder in the catalog.
var catalogedName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$`)

// locateFunction returns the place of the function that a call at a pointer names, if the function is not under `use`: a URI, or a place in a catalog
// (semantics 12.1, 12.3). It returns nil if the name is not valid, which is reported.
func locateFunction(b *interpreter.Builder, at dsl.Pointer, called string) *dsl.ExternalResource {
	if u, err := url.Parse(called); err == nil && isPlace(u) {
		if relative, err := url.Parse(interpreter.RelativeFile(called)); err == nil {
			u = relative
		}
		if leadsOut(u) {
			b.Report("SW802", at, called+" leads out of the folder of its caller: call a file below that folder, or by file:/// and an absolute path")
			return nil
		}
		return resourceAt(at, functionFile(rawURL(u)), nil)
	}
	named, catalog, given := strings.Cut(called, "@")
	if !IsFunctionOfCatalog(named) {
		b.Report("SW109", at, fmt.Sprintf("%s is neither a function of `use.functions`, nor a URL, nor name:version@catalog with a version such as 1.0.0", shorten.Quoted(called)))
		return nil
	}
	if !given {
		catalog = "default"
	}
	endpoint := b.Workflow().Use.Catalogs[catalog]
	switch itself := named + "@default"; {
	case endpoint == nil && !given && slices.Contains(dsl.CallProtocols(), itself):
		b.Add(dsl.Diagnostic{Code: "SW109", Pointer: at, Message: fmt.Sprintf("swrun itself performs `%s`, which is always called with its catalog", itself), Help: "write `call: " + itself + "`"})
		return nil
	case endpoint == nil && catalog == "default":
		return resourceAt(at, InDefaultCatalog(named), nil)
	case endpoint == nil:
		b.Add(dsl.Reference{Pointer: at, Section: "catalogs", Name: catalog}.Undefined())
		return nil
	}
	uri, literal := inCatalogAt(endpoint, named)
	if !literal {
		b.Report("SW802", endpoint.URI.Pointer, "the place of a catalog must be a literal URI, because its content is kept with the document")
		return nil
	}
	return resourceAt(at, uri, endpoint.Authentication)
}

// inCatalogAt returns the URI of a function of a catalog, name:version. literal is false if the place of the catalog is no literal URI.
func inCatalogAt(endpoint *dsl.Endpoint, named string) (uri string, literal bool) {
	text := endpoint.URI.Text()
	base, err := url.Parse(text)
	if err != nil || expr.Delimited(text) || strings.ContainsAny(text, "{}") {
		return "", false
	}
	return rawURL(base).JoinPath(inCatalogs(named)).String(), true
}

// IsFunctionOfCatalog reports whether text is a valid name of a function of a catalog: name:version.
func IsFunctionOfCatalog(named string) bool {
	name, version, _ := strings.Cut(named, ":")
	_, err := semver.StrictNewVersion(version)
	return err == nil && catalogedName().MatchString(name)
}

// functionName is the file of a function, in the folder of its version.
const functionName = "function.yaml"

// functionOf is the inverse of inCatalogs, also for the files beside the function: it returns the function to which a file of a catalog belongs, and
// the file's name in its folder.
func functionOf(file string) (named, name string, ok bool) {
	parts := strings.SplitN(file, "/", 4)
	if len(parts) < 4 || parts[0] != "functions" {
		return "", "", false
	}
	named = parts[1] + ":" + parts[2]
	return named, parts[3], IsFunctionOfCatalog(named)
}

// inCatalogs returns the file of a function in every catalog, by its name:version.
func inCatalogs(named string) string {
	name, version, _ := strings.Cut(named, ":")
	return path.Join("functions", name, version, functionName)
}

// InDefaultCatalog returns the URI of a function of the default catalog, name:version or name:version@default.
func InDefaultCatalog(called string) string {
	named, _, _ := strings.Cut(called, "@")
	return catalogScheme + ":/" + inCatalogs(named)
}

// OfDefaultCatalog returns the URI of the function that a document calls as name:version@default: in the document's own catalog with the name
// default, or in the default catalog.
func OfDefaultCatalog(w *dsl.Workflow, called string) string {
	if own := w.Use.Catalogs["default"]; own != nil {
		named, _, _ := strings.Cut(called, "@")
		uri, _ := inCatalogAt(own, named) // a URI that is not literal is reported where the function is compiled
		return uri
	}
	return InDefaultCatalog(called)
}

func resourceAt(at dsl.Pointer, uri string, policy *dsl.Authentication) *dsl.ExternalResource {
	return &dsl.ExternalResource{Pointer: at, Endpoint: &dsl.Endpoint{Pointer: at, URI: dsl.Value{Pointer: at, Data: uri, Form: dsl.FormText}, Authentication: policy}}
}

// isPlace reports whether a URL is a place from which resources are read.
func isPlace(u *url.URL) bool {
	switch u.Scheme {
	case "http", "https":
		return u.Host != ""
	case "file":
		return true
	}
	return false
}

// functionFile returns the URL of a function's definition. The URL of a folder means its function.yaml.
func functionFile(u *url.URL) string {
	switch strings.ToLower(path.Ext(u.Path)) {
	case ".yaml", ".yml", ".json":
		return u.String()
	}
	return u.JoinPath(functionName).String()
}

// rawURL returns the URL of the content that a page of GitHub or GitLab shows. Other URLs are returned unchanged.
func rawURL(u *url.URL) *url.URL {
	if u.Scheme != "https" && u.Scheme != "http" {
		return u
	}
	raw := *u
	raw.RawPath = ""
	if strings.EqualFold(u.Hostname(), "github.com") {
		parts := strings.Split(strings.Trim(u.Path, "/"), "/")
		if len(parts) < 2 {
			return u
		}
		repository, ref, rest := parts[:2], "HEAD", parts[2:]
		switch last := len(rest) - 1; {
		case len(rest) >= 2 && (rest[0] == "tree" || rest[0] == "blob"):
			ref, rest = rest[1], rest[2:]
		case len(rest) > 0 && strings.Contains(rest[last], "@"):
			rest[last], ref, _ = strings.Cut(rest[last], "@")
		case len(rest) == 0 && strings.Contains(repository[1], "@"):
			repository[1], ref, _ = strings.Cut(repository[1], "@")
		}
		raw.Host, raw.Path = "raw.githubusercontent.com", "/"+path.Join(slices.Concat(repository, []string{ref}, rest)...)
		return &raw
	}
	for _, shown := range []string{"/-/tree/", "/-/blob/"} { // GitLab, under any host name of a company
		if before, after, found := strings.Cut(u.Path, shown); found {
			raw.Path = before + "/-/raw/" + after
		}
	}
	return &raw
}
