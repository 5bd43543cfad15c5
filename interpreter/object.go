package interpreter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/form"
	"github.com/swrun/swrun/internal/jsonvalue"
	"github.com/swrun/swrun/redact"
)

// object is a JSON object that is being written or read. Each stored type has one function that visits its fields with their keys. The function
// serves both directions, so that each key is written once. Zero fields are left out, so that stored objects stay small. Fields are read in the order
// in which they were written.
type object struct {
	b       []byte // the part that is written already, or that is still to be read
	reading bool
	err     error // the first one
	// secrets replaces secrets in the workflow's data by references on writing, and back on reading.
	secrets *redact.Set
}

// written returns an object with the given fields, appended to b. It begins a new text, so that o can be used again.
func (o *object) written(b []byte, fields func(*object)) ([]byte, error) {
	o.b, o.err = b, nil
	o.nested(fields)
	return o.b, o.err
}

// writtenIn returns an object with the given fields and the stored form, appended to b.
func (o *object) writtenIn(f form.Form, b []byte, fields func(*object)) ([]byte, error) {
	return o.written(b, func(o *object) {
		number(o, form.Member(), &f)
		fields(o)
	})
}

// readStored visits the fields of an object that writtenIn wrote in a form up to known. what is the name of the object in errors.
func readStored(what string, known form.Form, from stored, fields func(*object)) error {
	return readObject(from.data, from.secrets, func(o *object) {
		var is form.Form
		number(o, form.Member(), &is)
		if err := form.Check(what, is, known); err != nil {
			o.fail(err)
			return
		}
		fields(o)
	})
}

// stored is an object as it was stored.
type stored struct {
	data    []byte
	secrets *redact.Set
}

// readObject visits the fields of an object that was written before.
func readObject(data []byte, secrets *redact.Set, fields func(*object)) error {
	o := &object{reading: true, secrets: secrets}
	if len(data) < 2 || data[0] != '{' || data[len(data)-1] != '}' {
		return fmt.Errorf("%.40q is not a JSON object", data)
	}
	o.b = data[1 : len(data)-1]
	if fields(o); o.err == nil && len(o.b) > 0 {
		return fmt.Errorf("%.40q is an unknown member, or out of order", o.b)
	}
	return o.err
}

// key begins a member that is written.
func (o *object) key(name string) {
	if o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, '"'), name...), '"', ':')
}

// peek returns where the value of the next member begins, if it has this name.
func (o *object) peek(name string) (at int, ok bool) {
	at = len(name) + len(`"":`)
	ok = len(o.b) > at && o.b[0] == '"' && string(o.b[1:1+len(name)]) == name && string(o.b[at-2:at]) == `":`
	return at, ok
}

// take returns the value of the next member if it has this name.
func (o *object) take(name string) (value []byte, ok bool) {
	at, ok := o.peek(name)
	if !ok {
		return nil, false
	}
	end := at + jsonvalue.Extent(o.b[at:])
	value, o.b = o.b[at:end], o.b[end:]
	if len(o.b) > 0 { // the comma before the next one
		o.b = o.b[1:]
	}
	return value, true
}

// next takes the next member, whatever its name is.
func (o *object) next() (name string, value []byte) {
	if end := bytes.IndexByte(o.b, ':') - 1; end > 0 {
		name = string(o.b[1:end])
	}
	value, ok := o.take(name)
	if !ok {
		o.check(fmt.Errorf("%.40q is not a member", o.b))
	}
	return name, value
}

func (o *object) fail(err error) {
	if o.err != nil {
		return
	}
	if o.err = err; !o.reading {
		o.b = append(o.b, "null"...) // keeps the text well-formed
	}
}

// text visits a field of text.
func text[T ~string](o *object, key string, v *T) { textUnless(o, key, v, "") }

// textUnless visits a field of text that is left out if it has its usual value.
func textUnless[T ~string](o *object, key string, v *T, usual T) {
	if !o.reading {
		if *v != usual {
			o.key(key)
			o.b = expr.AppendText(o.b, string(*v))
		}
		return
	}
	*v = usual
	if value, ok := o.take(key); ok {
		*v = T(o.unquoted(value))
	}
}

func (o *object) unquoted(value []byte) (text string) {
	if end := len(value) - 1; end > 0 && value[0] == '"' && value[end] == '"' && bytes.IndexByte(value, '\\') < 0 {
		return string(value[1:end])
	}
	if err := json.Unmarshal(value, &text); err != nil {
		o.fail(err)
	}
	return text
}

// number visits a field of a whole number.
func number[T ~int | ~int64 | ~uint8](o *object, key string, v *T) {
	if !o.reading {
		if *v != 0 {
			o.key(key)
			o.b = strconv.AppendInt(o.b, int64(*v), 10)
		}
	} else if value, ok := o.take(key); ok {
		n, err := strconv.Atoi(string(value))
		if err != nil {
			o.fail(err)
		}
		*v = T(n)
	}
}

// flag visits a field that is true or false.
func (o *object) flag(key string, v *bool) {
	if !o.reading {
		if *v {
			o.key(key)
			o.b = append(o.b, "true"...)
		}
	} else if value, ok := o.take(key); ok {
		*v = string(value) == "true"
	}
}

// instant visits a point in time: milliseconds since 1970, with six decimals unless it is a whole number.
func (o *object) instant(key string, v *time.Time) {
	if o.reading {
		if value, ok := o.take(key); ok {
			*v = o.readInstant(string(value))
		}
		return
	}
	if v.IsZero() {
		return
	}
	o.key(key)
	o.b = strconv.AppendInt(o.b, v.UnixMilli(), 10)
	if rest := v.Nanosecond() % int(time.Millisecond); rest != 0 {
		o.b = fmt.Appendf(o.b, ".%06d", rest)
	}
}

func (o *object) readInstant(value string) time.Time {
	whole, rest, _ := strings.Cut(value, ".")
	ms, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		o.fail(err)
		return time.Time{}
	}
	ns, err := strconv.Atoi((rest + "000000")[:6])
	if err != nil {
		o.fail(err)
	}
	return time.UnixMilli(ms).Add(time.Duration(ns)).UTC()
}

// byNumber visits JSON texts that may be stored as they are, each under a number.
func byNumber[K ~int](o *object, key string, all *map[K][]byte) {
	if !o.reading {
		o.key(key)
		o.nested(func(inner *object) {
			for _, n := range slices.Sorted(maps.Keys(*all)) {
				inner.raw(strconv.Itoa(int(n)), (*all)[n])
			}
		})
		return
	}
	*all = map[K][]byte{}
	value, ok := o.take(key)
	if !ok {
		return
	}
	o.check(readObject(value, nil, func(inner *object) {
		for inner.err == nil && len(inner.b) > 0 {
			name, text := inner.next()
			n, err := strconv.Atoi(name)
			inner.check(err)
			(*all)[K(n)] = bytes.Clone(text)
		}
	}))
}

// raw writes JSON text.
func (o *object) raw(key string, data []byte) {
	o.key(key)
	o.b = append(o.b, data...)
}

// part visits an object inside this one; nil is left out.
func part[T any](o *object, key string, v **T, fields func(*T, *object)) {
	if !o.reading {
		if *v != nil {
			o.key(key)
			o.nested(func(inner *object) { fields(*v, inner) })
		}
	} else if value, ok := o.take(key); ok {
		*v = new(T)
		o.check(readObject(value, o.secrets, func(inner *object) { fields(*v, inner) }))
	}
}

// parts visits a list of objects; an empty one is left out.
func parts[T any](o *object, key string, all *[]T, fields func(*T, *object)) {
	if o.reading {
		value, _ := o.take(key)
		for len(value) > 1 { // more than the closing bracket; a bracket or comma comes before each item
			value = value[1:]
			end := jsonvalue.Extent(value)
			if end == 0 {
				break
			}
			item := new(T)
			o.check(readObject(value[:end], o.secrets, func(inner *object) { fields(item, inner) }))
			*all, value = append(*all, *item), value[end:]
		}
		return
	}
	if len(*all) == 0 {
		return
	}
	o.key(key)
	for i := range *all {
		o.b = append(o.b, "[,"[min(i, 1)])
		o.nested(func(inner *object) { fields(&(*all)[i], inner) })
	}
	o.b = append(o.b, ']')
}

// nested writes an object inside this one.
func (o *object) nested(fields func(*object)) {
	o.b = append(o.b, '{')
	fields(o)
	o.b = append(o.b, '}')
}

func (o *object) check(err error) {
	if o.err == nil {
		o.err = err
	}
}

// custom visits a field that writes and reads itself as JSON; nil is left out.
func custom[T any](o *object, key string, v **T) {
	if !o.reading {
		if *v == nil {
			return
		}
		data, err := json.Marshal(*v)
		if err != nil {
			o.fail(err)
			return
		}
		o.raw(key, data)
	} else if value, ok := o.take(key); ok {
		*v = new(T)
		o.check(json.Unmarshal(value, *v))
	}
}
