package errors

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
)

// Aliases are the types that other types of errors are read as: the old name of a type, and its name now. Every spelling of a standard
// type stands for all of them. They are only compared with: an error keeps the type that it was raised with.
type Aliases map[string]string

// Check reports an alias that cannot be meant.
func (a Aliases) Check() error {
	for _, old := range slices.Sorted(maps.Keys(a)) {
		for _, uri := range []string{old, a[old]} {
			if u, err := url.Parse(uri); err != nil || !u.IsAbs() {
				return fmt.Errorf("%s is not the type of an error: it must be an absolute URI", excerpt(uri))
			}
		}
		if a.Resolve(old) == canonical(old) {
			return fmt.Errorf("the alias of %s leads back to it", excerpt(old))
		}
		if a.step(a.Resolve(old)) != a.Resolve(old) {
			return fmt.Errorf("the alias of %s leads in a circle", excerpt(old))
		}
	}
	return nil
}

// step returns what a type in its standard spelling is read as.
func (a Aliases) step(uri string) string {
	for old, now := range a {
		if canonical(old) == uri {
			return canonical(now)
		}
	}
	return uri
}

// Resolve returns what a type is read as, in the standard spelling if it is a standard type.
func (a Aliases) Resolve(uri string) string {
	uri = canonical(uri)
	for range a { // an alias of an alias, and so on
		uri = a.step(uri)
	}
	return uri
}

// Same reports whether two URIs name one error type.
func (a Aliases) Same(x, y string) bool { return x == y || a.Resolve(x) == a.Resolve(y) }

// Spellings returns the types that are read as one, that one first: those that are not known as aliases of it are other types.
func (a Aliases) Spellings(uri string) []string {
	all := []string{uri}
	for _, old := range slices.Sorted(maps.Keys(a)) {
		for _, other := range []string{old, a[old]} {
			if !slices.Contains(all, other) && a.Same(uri, other) {
				all = append(all, other)
			}
		}
	}
	return all
}

// IsBase reports whether the standard types are published under a base, so that every filter knows them.
func IsBase(base string) bool { return StandardName(base+"timeout") == "timeout" }
