package errors

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
)

// Aliases map the old name of a type of error to its present name. Every spelling of a standard type counts as the same type. Aliases are used only
// for comparisons: an error keeps the type with which it was raised.
type Aliases map[string]string

// Check reports an alias that is certainly a mistake.
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

// step returns the type as which a type in its standard spelling is read, by one alias.
func (a Aliases) step(uri string) string {
	for old, now := range a {
		if canonical(old) == uri {
			return canonical(now)
		}
	}
	return uri
}

// Resolve returns the type as which a type is read, in the standard spelling if it is a standard type.
func (a Aliases) Resolve(uri string) string {
	uri = canonical(uri)
	for range a { // an alias of an alias, and so on
		uri = a.step(uri)
	}
	return uri
}

// Same reports whether two URIs name one error type.
func (a Aliases) Same(x, y string) bool { return x == y || a.Resolve(x) == a.Resolve(y) }

// Spellings returns the types that are read as uri, with uri first. Types that are not known as aliases of uri are other types.
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
