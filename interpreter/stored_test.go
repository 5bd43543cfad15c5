package interpreter

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/swrun/swrun/errors"
)

// TestNothingIsForgotten: every field of a frame, of a state and of a history step is stored and read back. It fails for a new field that is neither
// stored nor listed here.
func TestNothingIsForgotten(t *testing.T) {
	notStored := []string{
		"node", "key", "size", "touched", // found again, or about how the frame is stored
		"unwinding", // ends within its step
	}
	t.Run("task", func(t *testing.T) {
		f := &taskFrame{}
		fill(t, reflect.ValueOf(f).Elem(), notStored)
		f.Phase, f.Progress = PhaseAfter, json.RawMessage(`{"a":1}`)
		checkFrame(t, f)
	})
	t.Run("list", func(t *testing.T) {
		f := &listFrame{}
		fill(t, reflect.ValueOf(f).Elem(), notStored)
		checkFrame(t, f)
	})
	t.Run("state", func(t *testing.T) {
		s := &State{}
		fill(t, reflect.ValueOf(s).Elem(), []string{
			"ID", "Namespace", "Metadata", "Keys", "Input", "Context", "frames", // stored elsewhere
			"queued", "headChanged", "contextChanged", "ended", "free", "lastKey", "sizes", "redact", "leaveDetached", "waits", // of the state in memory
		})
		s.Status = StatusCompleted
		back := &State{}
		check(t, s, back, s.stored, back.stored)
	})
	t.Run("history", func(t *testing.T) {
		e := &HistoryStep{}
		fill(t, reflect.ValueOf(e).Elem(), nil)
		e.Events = append(e.Events, e.Events[0]) // of the same task, with the same data
		e.Events[1].Seq++
		for i := range e.Events {
			e.Events[i].At, e.Events[i].Type = e.At, TaskCompleted
		}
		e.State.Head, e.State.Context, e.State.Frames = []byte(`{"s":"x"}`), []byte("[1]"), map[FrameKey][]byte{1: []byte(`{"a":1}`), 20: []byte("2")}
		back := &HistoryStep{}
		check(t, e, back, func(o *object) { e.stored(o, &largeData{limit: 1 << 20}) }, func(o *object) { back.stored(o, &largeData{}) })
	})
}

func checkFrame(t *testing.T, f frame) {
	t.Helper()
	data, err := encodeFrame(f, &object{})
	if err != nil {
		t.Fatal(err)
	}
	back, err := decodeFrame(data, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	if !reflect.DeepEqual(f, back) {
		t.Errorf("%s\ncame back as %#v\ninstead of  %#v", data, back, f)
	}
}

func check(t *testing.T, want, back any, write, read func(*object)) {
	t.Helper()
	data, err := new(object).written(nil, write)
	if err != nil {
		t.Fatal(err)
	}
	if err := readObject(data, nil, read); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	if !reflect.DeepEqual(want, back) {
		t.Errorf("%s\ncame back as %#v\ninstead of  %#v", data, back, want)
	}
}

// fill gives every field below v a value that is not zero. Neighbouring fields get different values.
func fill(t *testing.T, v reflect.Value, but []string) {
	t.Helper()
	switch value := v.Addr().Interface().(type) {
	case *time.Time:
		*value = time.UnixMilli(1_700_000_000_123).UTC()
		return
	case **errors.Error:
		*value = errors.Timeoutf("too late").At("/do/0/a")
		return
	case *any:
		*value = map[string]any{"n": 1, "s": `a "b" }`}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !slices.Contains(but, name) {
				field := v.Field(i)
				fill(t, reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem(), but)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), but)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`{"b":[1,"]"]}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), but)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		if v.Type().Key().Kind() == reflect.String {
			value := reflect.New(v.Type().Elem()).Elem()
			fill(t, value, but)
			v.SetMapIndex(reflect.ValueOf("m").Convert(v.Type().Key()), value)
		}
	case reflect.String:
		v.SetString("text/" + v.Type().Name())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Uint8:
		v.SetUint(1)
	default:
		t.Fatalf("a field of %s: teach this test to fill it", v.Type())
	}
}

// TestDamagedStatesAreErrors: text that is cut off or damaged is an error.
func TestDamagedStatesAreErrors(t *testing.T) {
	f := &taskFrame{Raw: map[string]any{"a": []any{1, "x"}}, Effect: &InFlight{ID: 1, Request: []byte(`{"q":1}`)}}
	f.Deadlines = []Deadline{{Kind: DeadlineTask, At: time.UnixMilli(5)}, {Kind: DeadlineRetry, At: time.UnixMilli(6)}}
	data, err := encodeFrame(f, &object{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if _, err := decodeFrame(data[:n], nil); err == nil {
			t.Errorf("%s is not an error", data[:n])
		}
	}
	for _, text := range []string{`{}x`, `{"i":1,"zz":2}`, `{"f":2,"i":1}`, `{"i":"a"}`, `{"t":"x"}`, `{"t":}`, `{"i"}`, `{:}`, `{"d":[`, `{"d":[{]}`, `[]`} {
		if _, err := decodeFrame([]byte(text), nil); err == nil {
			t.Errorf("%s is not an error", text)
		}
	}
}
