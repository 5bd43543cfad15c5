package client

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/swrun/swrun/interpreter"
	"github.com/swrun/swrun/runtime/inbox"
	"github.com/swrun/swrun/runtime/store"
)

// This file describes the messages to a run that wait for a worker.

// unreadShown bounds how many messages a description reads: the result of a child may be large.
const unreadShown = 10

// unread returns the first messages that wait for a worker, unless the owner of the run is about to read them. It records the commands
// among them.
func (c *Client) unread(ctx context.Context, d *Description) ([]inbox.Message, error) {
	if d.Lifecycle.Status.Final() {
		return nil, nil
	}
	messages, err := c.store.Inbox(ctx, d.Instance, unreadShown) // even if no message is expected: an overwritten inbox takes no command
	if err != nil || !d.Lifecycle.Unread() {
		return nil, err
	}
	var all []inbox.Message
	for n, data := range messages {
		m, _, err := inbox.Read(d.Instance, d.Lifecycle.Read+int64(n)+1, data)
		if err != nil {
			return nil, err
		}
		if d.attended() {
			continue
		}
		if verb, ok := commandOf(m); ok {
			isSame := func(earlier store.Verb) bool { return earlier == verb }
			d.Commands = append(slices.DeleteFunc(d.Commands, isSame), verb)
		}
		all = append(all, m)
	}
	return all, nil
}

// commandOf returns which command a message is, and whether it is one.
func commandOf(m inbox.Message) (store.Verb, bool) {
	switch {
	case m.Type == interpreter.EventCancel && m.Terminated:
		return store.VerbTerminate, true
	case m.Type == interpreter.EventCancel:
		return store.VerbCancel, true
	case m.Type == interpreter.EventSuspend:
		return store.VerbSuspend, true
	case m.Type == interpreter.EventResume:
		return store.VerbResume, true
	case m.Type == interpreter.EventRelease:
		return store.VerbRetry, true
	case m.Type == interpreter.EventDeadline:
		return store.VerbDeadline, true
	case m.Type == interpreter.EventRetryNow:
		return store.VerbRetryNow, true
	case m.Type == interpreter.EventMigrate:
		return store.VerbMigrate, true
	}
	return "", false
}

// kindOf describes the kind of a message, for people.
func kindOf(m inbox.Message) string {
	verb, isCommand := commandOf(m)
	switch {
	case m.Type == interpreter.EventDeadline:
		return "deadline change"
	case m.Type == interpreter.EventMigrate:
		return "migration"
	case isCommand:
		return string(verb)
	}
	return "result"
}

// mail describes the messages that wait for a worker: a suspend and 2 cancels.
func (d *Description) mail(unread []inbox.Message) string {
	if len(unread) == 0 {
		return ""
	}
	var kinds []string
	count := map[string]int{}
	for _, m := range unread {
		kind := kindOf(m)
		if count[kind]++; count[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	for n, kind := range kinds {
		kinds[n] = "a " + kind
		if count[kind] > 1 {
			kinds[n] = fmt.Sprintf("%d %ss", count[kind], kind)
		}
	}
	if more := int(d.Lifecycle.Mail-d.Lifecycle.Read) - len(unread); more > 0 {
		kinds = append(kinds, fmt.Sprintf("%d more", more))
	}
	last := len(kinds) - 1
	text := kinds[last]
	if last > 0 {
		text = strings.Join(kinds[:last], ", ") + " and " + text
	}
	verb := " wait"
	if len(unread) == 1 {
		verb = " waits"
	}
	return " " + strings.ToUpper(text[:1]) + text[1:] + verb + " for a worker."
}
