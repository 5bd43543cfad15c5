package dsl

import "regexp"

// plainURI matches a URI, or a template of one, that is called without TLS, whatever its variables are.
var plainURI = regexp.MustCompile(`^\s*(?i:http)://`)

// checkCertificates: SW124, certificates for what is called without TLS as the document has it.
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
