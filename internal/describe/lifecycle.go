package describe

import (
	"encoding/json"
	"fmt"
	"github.com/swrun/swrun/internal/cloudevent"
	"strings"

	"github.com/swrun/swrun/internal/api"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/terminal"
)

// lifecycleEvent is what is shown of a lifecycle event.
type lifecycleEvent struct {
	ID, Source, Type, Time string
	Data                   struct {
		Task, Status string
		Error        map[string]any
	}
}

// LifecycleLine is a lifecycle event for people, from the JSON of its CloudEvent: when, what, where, of which run, and its error.
func LifecycleLine(event []byte) string {
	var e lifecycleEvent
	if err := json.Unmarshal(event, &e); err != nil {
		return terminal.Printable(shorten.To(string(event), 200)) + "\n"
	}
	words := []string{fmt.Sprintf("%s  %-22s", milliseconds(api.ParseTime(e.Time)), cloudevent.LifecycleName(e.Type)), runOf(e.Source, e.ID)}
	if e.Data.Task != "" {
		words = append(words, e.Data.Task)
	}
	if e.Data.Status != "" {
		words = append(words, e.Data.Status)
	}
	if e.Data.Error != nil {
		words = append(words, shorten.To(api.ParseError(e.Data.Error).Error(), 200))
	}
	return terminal.Printable(strings.Join(words, " ")) + "\n"
}

// EmittedLine is an event that a run has emitted, for people, from the JSON of its CloudEvent: when, which run, and what type, source and id it has.
func EmittedLine(event []byte, run string) string {
	var e struct{ ID, Source, Type, Time string }
	_ = json.Unmarshal(event, &e) // what could be read of it is shown
	about := shorten.To(e.Type+" source="+e.Source+" id="+e.ID, 400)
	return terminal.Printable(fmt.Sprintf("%s  %-22s %s %s", milliseconds(api.ParseTime(e.Time)), "emitted", run, about)) + "\n"
}

// runOf returns the run that an event is about: the first part of its source is the namespace, and its id begins with that of the run.
func runOf(source, id string) string {
	namespace, _, _ := strings.Cut(strings.TrimPrefix(source, "/"), "/")
	if end := strings.LastIndexByte(id, '-'); end >= 0 {
		id = id[:end]
	}
	return namespace + "/" + id
}
