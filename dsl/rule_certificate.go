package dsl

import "regexp"

// plainURI matches a URI, or a template of one, that is called without TLS, with any values of its variables.
var plainURI = regexp.MustCompile(`^\s*(?i:http)://`)

// checkCertificates: SW124, certificates for calls that the document makes without TLS.
func checkCertificates(c *checker) {
	w := &walker{onPlaintext: func(a *Authentication, at Pointer, help string) {
		if a != nil && a.Use.Name != "" {
			a = c.w.Use.Authentications[a.Use.Name]
		}
		if a != nil && a.Scheme == SchemeCertificate {
			c.add(Diagnostic{Code: "SW124", Pointer: at, Message: "a `certificate` is for TLS, and this is called without", Help: help})
		}
	}}
	w.workflow(c.w, nil)
}
