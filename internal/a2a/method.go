package a2a

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	protocol "github.com/a2aproject/a2a-go/a2a"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/shorten"
	"github.com/swrun/swrun/internal/suggest"
)

// Method is one of the protocol's methods.
type Method struct {
	Name    string
	Streams bool // it has any number of results

	version    Version
	called     string       // the name in the protocol
	parameters reflect.Type // nil if they are not known
	result     func([]byte) error
	mayBeNull  bool // the result
}

// MethodOf returns a method of a version by its name in the DSL.
func MethodOf(name string, version Version) Method {
	m := methodOf(name)
	m.version, m.called = V03, name
	if version == V1 {
		return m.in1()
	}
	return m
}

func methodOf(name string) Method {
	switch name {
	case "message/send":
		return takes[protocol.MessageSendParams](name, isAnswer)
	case "message/stream":
		return takes[protocol.MessageSendParams](name, isEvent).streaming()
	case "tasks/get":
		return takes[protocol.TaskQueryParams](name, is[protocol.Task])
	case "tasks/cancel":
		return takes[protocol.TaskIDParams](name, is[protocol.Task])
	case "tasks/resubscribe":
		return takes[protocol.TaskIDParams](name, isEvent).streaming()
	case "tasks/pushNotificationConfig/set":
		return takes[protocol.TaskPushConfig](name, is[protocol.TaskPushConfig])
	case "tasks/pushNotificationConfig/get":
		return takes[protocol.GetTaskPushConfigParams](name, is[protocol.TaskPushConfig])
	case "tasks/pushNotificationConfig/list":
		return takes[protocol.ListTaskPushConfigParams](name, is[[]protocol.TaskPushConfig])
	case "tasks/pushNotificationConfig/delete":
		m := takes[protocol.DeleteTaskPushConfigParams](name, is[any])
		m.mayBeNull = true
		return m
	case "agent/getAuthenticatedExtendedCard":
		return takes[struct{}](name, is[map[string]any])
	}
	return Method{Name: name, result: is[any]} // tasks/list, which this version of the protocol does not define for JSON-RPC
}

func takes[P any](name string, result func([]byte) error) Method {
	return Method{Name: name, parameters: reflect.TypeFor[P](), result: result}
}

func (m Method) streaming() Method {
	m.Streams = true
	return m
}

func is[T any](data []byte) error { return json.Unmarshal(data, new(T)) }

func isEvent(data []byte) error {
	_, err := protocol.UnmarshalEventJSON(data)
	return err
}

func isAnswer(data []byte) error {
	event, err := protocol.UnmarshalEventJSON(data)
	if _, ok := event.(protocol.SendMessageResult); err == nil && !ok {
		err = errors.New("it is neither a task nor a message")
	}
	return err
}

// Complete returns parameters in the form of the version, with the defaults of a message: an id, the role of the user, and its kind.
func (m Method) Complete(parameters map[string]any, messageID string) map[string]any {
	message, ok := parameters["message"].(map[string]any)
	if !ok || m.Name != "message/send" && m.Name != "message/stream" {
		return m.asSent(parameters)
	}
	parameters, message = maps.Clone(parameters), maps.Clone(message)
	for name, value := range map[string]any{"messageId": messageID, "role": string(protocol.MessageRoleUser), "kind": "message"} {
		if message[name] == nil {
			message[name] = value
		}
	}
	parameters["message"] = message
	return m.asSent(parameters)
}

// asSent returns parameters in the form of the version.
func (m Method) asSent(parameters map[string]any) map[string]any {
	if m.version == V1 {
		return m.translated(parameters)
	}
	return parameters
}

// ParameterError is a parameter that a method does not define, or a required parameter that is missing.
type ParameterError struct {
	Path    []string // to it, or to the object that lacks it
	All     []string // the possible names in its place
	message string
}

func (e *ParameterError) Error() string { return e.message }

// Check returns the mistakes in the names of parameters.
func (m Method) Check(parameters map[string]any) []*ParameterError {
	if m.parameters == nil {
		return nil
	}
	return m.check(m.parameters, parameters, nil)
}

func (m Method) check(t reflect.Type, given map[string]any, at []string) (wrong []*ParameterError) {
	all := membersOf(t)
	names, of := slices.Sorted(maps.Keys(all)), m.Name
	if len(at) > 0 {
		of = "`" + strings.Join(at, ".") + "` of " + m.Name
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		here := append(slices.Clone(at), name)
		member, known := all[name]
		if !known {
			text := fmt.Sprintf("%s has no parameter %s", of, shorten.Quoted(name))
			if nearest := suggest.Nearest(name, names); nearest != "" {
				text += fmt.Sprintf(": did you mean `%s`", nearest)
			}
			wrong = append(wrong, &ParameterError{here, names, text})
			continue
		}
		if inner, ok := given[name].(map[string]any); ok && member.object != nil {
			wrong = append(wrong, m.check(member.object, inner, here)...)
		}
	}
	for _, name := range names {
		if all[name].required && given[name] == nil {
			wrong = append(wrong, &ParameterError{at, nil, fmt.Sprintf("%s needs `%s`", of, name)})
		}
	}
	return wrong
}

// member is a member of an object.
type member struct {
	required bool
	object   reflect.Type // if it is an object with known members
}

// membersOf returns the members of a type of the library.
func membersOf(t reflect.Type) map[string]member {
	all := map[string]member{}
	for _, field := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		one := member{required: !strings.Contains(options, "omitempty")}
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			one.object = inner
		}
		all[name] = one
	}
	if t == reflect.TypeFor[protocol.Message]() {
		all["kind"] = member{} // the library writes it automatically
	}
	return all
}

// Fits returns an error if the types of parameters are not those of the method.
func (m Method) Fits(parameters map[string]any) error {
	if m.parameters == nil {
		return nil
	}
	data, err := expr.Encode(parameters)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, reflect.New(m.parameters).Interface()); err != nil {
		return errors.New(fit(err))
	}
	return nil
}

// fit describes a misfit of a type of the library, without the names of the type there.
func fit(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Sprintf("`%s` cannot be %s", wrong.Field, wrong.Value)
	}
	return shorten.To(err.Error(), maxQuoted)
}
