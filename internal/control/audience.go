package control

import (
	"context"
	"time"

	"github.com/swrun/swrun/runtime/client"
	"github.com/swrun/swrun/runtime/definition"
	"github.com/swrun/swrun/runtime/store"
)

// Audience returns the namespaces of a request: the named one, or without a name all namespaces that are granted to the caller. Nil means all
// namespaces.
func Audience(ctx context.Context, named string) ([]string, error) {
	granted := definition.GrantedIn(ctx)
	if named == "" {
		return granted, nil
	}
	if err := checkNamespace(named); err != nil {
		return nil, err
	}
	if !granted.Has(named) {
		return nil, store.Refuse(store.NoSuch, time.Time{}, "namespace %s", named)
	}
	return []string{named}, nil
}

// checkNamespace refuses a text that cannot be a namespace.
func checkNamespace(namespace string) error {
	if err := store.CheckNamespace(namespace); err != nil {
		return client.NewOptionError("namespace", err)
	}
	return nil
}
