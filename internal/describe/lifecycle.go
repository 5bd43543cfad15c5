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

// lifecycleEvent contains the displayed parts of a lifecycle event.
type lifecycleEvent struct {
	ID, Source, Type, Time string
	Data                   struct {
		Task, Status string
		Error        map[string]any
	}
}

// LifecycleLine returns a lifecycle event for people, from the JSON of its CloudEvent: its time, its type, its run, its task, and its error.
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

// EmittedLine returns an event that a run has emitted for people, from the JSON of its CloudEvent: its time, its run, its type, source and id.
func EmittedLine(event []byte, run string) string {
	var e struct{ ID, Source, Type, Time string }
	_ = json.Unmarshal(event, &e) // the readable parts are shown
	about := shorten.To(e.Type+" source="+e.Source+" id="+e.ID, 400)
	return terminal.Printable(fmt.Sprintf("%s  %-22s %s %s", milliseconds(api.ParseTime(e.Time)), "emitted", run, about)) + "\n"
}

// runOf returns the run of an event: the first part of its source is the namespace, and the id of the run is the prefix of its id.
func runOf(source, id string) string {
	namespace, _, _ := strings.Cut(strings.TrimPrefix(source, "/"), "/")
	if end := strings.LastIndexByte(id, '-'); end >= 0 {
		id = id[:end]
	}
	return namespace + "/" + id
}
