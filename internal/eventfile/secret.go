package eventfile

import (
	"fmt"
	"slices"
)

// MissingSecretError reports that a source or a sink names a missing secret.
type MissingSecretError struct {
	Of     string // the source or sink, such as "source orders"
	Secret string
}

// Error returns the message.
func (e *MissingSecretError) Error() string {
	return fmt.Sprintf("the %s needs the secret %s, which is not there", e.Of, e.Secret)
}

// Secrets returns the names of the secrets that the sources and sinks need.
func (f *File) Secrets() (all []string) {
	for _, s := range f.Sources {
		all = append(all, s.PasswordSecret)
	}
	for _, s := range f.Sinks {
		all = append(all, s.PasswordSecret, s.TokenSecret)
	}
	return slices.DeleteFunc(all, func(name string) bool { return name == "" })
}

// Secret returns the secret that a source or a sink names; empty without a name. A secret that is missing, or is no text, is a *MissingSecretError.
func Secret(of, name string, lookup func(name string) (any, bool)) (string, error) {
	if name == "" {
		return "", nil
	}
	v, _ := lookup(name)
	if text, _ := v.(string); text != "" {
		return text, nil
	}
	return "", &MissingSecretError{of, name}
}
