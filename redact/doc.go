// Package redact finds the secrets of a workflow in text and in data, and replaces each by its name.
//
// Only this package knows the spellings of a secret: unchanged, escaped as in JSON, URLs, HTML and shells, in base64 (also inside a longer text that
// was encoded, such as user:password), in hex, in upper and lower case, as a number, and line by line. It cannot find values that an expression
// computes from a secret: a part, a digest, its length.
//
// There are two ways to use a Set. Text, Value and Error hide secrets from people, which cannot be undone. Seal replaces secrets by references to
// them, so that the data may be stored, and Open undoes it.
package redact
