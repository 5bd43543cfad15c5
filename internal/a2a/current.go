package a2a

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	current "github.com/a2aproject/a2a-go/v2/a2a"
)

// Version is a supported version of the protocol.
type Version string

// The versions.
const (
	V03 Version = "0.3" // the default without a card
	V1  Version = "1.0"
)

// Header contains the version in each request. Agents of 0.3 do not know it.
const Header = current.SvcParamVersion

// in1 returns a method of version 1.0. Names and parameters come from the author, who may write them in the form of either version.
func (m Method) in1() Method {
	switch m.version = V1; m.Name {
	case "message/send":
		return m.takes1("SendMessage", reflect.TypeFor[current.SendMessageRequest](), isAnswer1)
	case "message/stream":
		return m.takes1("SendStreamingMessage", reflect.TypeFor[current.SendMessageRequest](), isEvent1)
	case "tasks/get":
		return m.takes1("GetTask", reflect.TypeFor[current.GetTaskRequest](), is[current.Task])
	case "tasks/list":
		return m.takes1("ListTasks", reflect.TypeFor[current.ListTasksRequest](), is[current.ListTasksResponse])
	case "tasks/cancel":
		return m.takes1("CancelTask", reflect.TypeFor[current.CancelTaskRequest](), is[current.Task])
	case "tasks/resubscribe":
		return m.takes1("SubscribeToTask", reflect.TypeFor[current.SubscribeToTaskRequest](), isEvent1)
	case "tasks/pushNotificationConfig/set":
		return m.takes1("CreateTaskPushNotificationConfig", reflect.TypeFor[current.PushConfig](), is[current.PushConfig])
	case "tasks/pushNotificationConfig/get":
		return m.takes1("GetTaskPushNotificationConfig", reflect.TypeFor[current.GetTaskPushConfigRequest](), is[current.PushConfig])
	case "tasks/pushNotificationConfig/list":
		return m.takes1("ListTaskPushNotificationConfigs", reflect.TypeFor[current.ListTaskPushConfigRequest](), is[current.ListTaskPushConfigResponse])
	case "tasks/pushNotificationConfig/delete":
		return m.takes1("DeleteTaskPushNotificationConfig", reflect.TypeFor[current.DeleteTaskPushConfigRequest](), is[any])
	}
	return m.takes1("GetExtendedAgentCard", reflect.TypeFor[current.GetExtendedAgentCardRequest](), is[map[string]any])
}

func (m Method) takes1(called string, parameters reflect.Type, result func([]byte) error) Method {
	m.called, m.parameters, m.result = called, parameters, result
	return m
}

func isEvent1(data []byte) error { return is[current.StreamResponse](data) }

func isAnswer1(data []byte) error {
	var answer current.StreamResponse
	if err := json.Unmarshal(data, &answer); err != nil {
		return err
	}
	if _, ok := answer.Event.(current.SendMessageResult); !ok {
		return errors.New("it is neither a task nor a message")
	}
	return nil
}

// isLast1 reports whether a result is the last one: a message has no successor, and a task that is over sends no more results.
func isLast1(result json.RawMessage) bool {
	var answer current.StreamResponse
	if json.Unmarshal(result, &answer) != nil {
		return false
	}
	switch event := answer.Event.(type) {
	case *current.Message:
		return true
	case *current.Task:
		return event.Status.State.Terminal()
	case *current.TaskStatusUpdateEvent:
		return event.Status.State.Terminal()
	}
	return false
}

// translated returns parameters in the form of version 1.0. Parameters in that form, and unknown parameters, stay unchanged.
func (m Method) translated(parameters map[string]any) map[string]any {
	to := maps.Clone(parameters)
	switch m.Name {
	case "message/send", "message/stream":
		if message, ok := to["message"].(map[string]any); ok {
			to["message"] = message1(message)
		}
		if configuration, ok := to["configuration"].(map[string]any); ok {
			to["configuration"] = configuration1(configuration)
		}
	case "tasks/list":
		if state, ok := to["status"].(string); ok && state != "" && !strings.HasPrefix(state, statePrefix) {
			to["status"] = statePrefix + strings.ToUpper(strings.ReplaceAll(state, "-", "_"))
		}
	case "tasks/pushNotificationConfig/set":
		if inner, ok := to["pushNotificationConfig"].(map[string]any); ok {
			delete(to, "pushNotificationConfig")
			maps.Copy(to, push1(inner))
		}
	case "tasks/pushNotificationConfig/get", "tasks/pushNotificationConfig/delete":
		if id, ok := to["pushNotificationConfigId"]; ok {
			to["taskId"], to["id"] = to["id"], id
			delete(to, "pushNotificationConfigId")
		}
	case "tasks/pushNotificationConfig/list":
		rename(to, "id", "taskId")
	}
	return to
}

const statePrefix = "TASK_STATE_"

func message1(message map[string]any) map[string]any {
	to := maps.Clone(message)
	delete(to, "kind")
	switch to["role"] {
	case "user":
		to["role"] = string(current.MessageRoleUser)
	case "agent":
		to["role"] = string(current.MessageRoleAgent)
	}
	if parts, ok := to["parts"].([]any); ok {
		parts = slices.Clone(parts)
		for i, part := range parts {
			if written, ok := part.(map[string]any); ok {
				parts[i] = part1(written)
			}
		}
		to["parts"] = parts
	}
	return to
}

// part1 returns a part without its kind, which follows from its members.
func part1(part map[string]any) map[string]any {
	to := maps.Clone(part)
	delete(to, "kind")
	if file, ok := to["file"].(map[string]any); ok && part["kind"] == "file" {
		delete(to, "file")
		file = maps.Clone(file)
		rename(file, "uri", "url")
		rename(file, "bytes", "raw")
		rename(file, "name", "filename")
		rename(file, "mimeType", "mediaType")
		maps.Copy(to, file)
	}
	return to
}

func configuration1(configuration map[string]any) map[string]any {
	to := maps.Clone(configuration)
	if blocking, ok := to["blocking"].(bool); ok {
		delete(to, "blocking")
		to["returnImmediately"] = !blocking
	}
	if inner, ok := to["pushNotificationConfig"].(map[string]any); ok {
		delete(to, "pushNotificationConfig")
		to["taskPushNotificationConfig"] = push1(inner)
	}
	return to
}

// push1 returns the target of notifications. In version 1.0 it has one authentication scheme, and not a list.
func push1(push map[string]any) map[string]any {
	to := maps.Clone(push)
	authentication, _ := to["authentication"].(map[string]any) // nil without authentication
	if schemes, ok := authentication["schemes"].([]any); ok && len(schemes) == 1 {
		authentication = maps.Clone(authentication)
		delete(authentication, "schemes")
		authentication["scheme"] = schemes[0]
		to["authentication"] = authentication
	}
	return to
}

func rename(of map[string]any, from, to string) {
	if value, ok := of[from]; ok {
		delete(of, from)
		of[to] = value
	}
}
