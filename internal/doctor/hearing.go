package doctor

import (
	"context"
	"time"

	"github.com/swrun/swrun/runtime/settings"
	"github.com/swrun/swrun/runtime/store"
)

// hearing reports the namespaces that the events of runs reach.
func hearing(ctx context.Context, r store.Registry) Finding {
	said, err := settings.NewCache(r, time.Now).EventsIn(ctx, "")
	if err != nil {
		return Failed(ctx, "SD020", err)
	}
	return Finding{"SD020", OK, HearingText(said), ""}
}

// HearingText describes for people the namespaces that the events of runs reach: settings.EventsAll, settings.EventsOwn, or names.
func HearingText(said string) string {
	switch said {
	case settings.EventsAll:
		return "events that runs emit reach all namespaces"
	case settings.EventsOwn:
		return "events that runs emit reach their own namespace"
	}
	return "events that runs emit reach their own namespace and " + said
}
