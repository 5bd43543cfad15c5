// Package redact finds the secrets of a workflow in text and in data, and puts a name where a secret was.
//
// It is the one place that knows what a secret may look like: as it is, in the spellings of JSON, URLs, HTML and shells,
// in base64 (also inside of a longer text that was encoded, as user:password is), in hex, in upper and lower case, as a
// number, and line by line. What it cannot know is what an expression computes from a secret: a part, a digest, its
// length.
//
// There are two ways to use a Set. Text, Value and Error hide secrets from people, for good. Seal turns data into what
// may be stored, and Open turns it back: a secret is stored as a reference to it.
package redact
