package interpreter

import (
	"bytes"
	"math"
	"slices"
	"strconv"

	"github.com/swrun/swrun/expr"
	"github.com/swrun/swrun/internal/jsonvalue"
)

// data visits data of the workflow, which may contain secrets; nil is left out.
func (o *object) data(key string, v *any) {
	if !o.reading {
		if *v != nil {
			o.write(key, o.secrets.Seal(*v))
		}
	} else if value, ok := o.take(key); ok {
		*v = o.secrets.Open(o.decoded(value))
	}
}

// dataUnless visits data that is left out if it is the same as other.
func (o *object) dataUnless(key string, v *any, other any) {
	if !o.reading {
		if !jsonvalue.Same(*v, other) {
			o.write(key, o.secrets.Seal(*v))
		}
		return
	}
	*v = other
	if value, ok := o.take(key); ok {
		*v = o.secrets.Open(o.decoded(value))
	}
}

// optional visits data that may be absent: a nil *v is left out, a null value is written as null.
func (o *object) optional(key string, v **Value) {
	if !o.reading {
		if *v != nil {
			o.write(key, o.secrets.Seal((*v).V))
		}
	} else if value, ok := o.take(key); ok {
		*v = &Value{o.secrets.Open(o.decoded(value))}
	}
}

// texts visits texts by names that contain no secret; none are left out.
func (o *object) texts(key string, v *map[string]string) {
	if !o.reading {
		if len(*v) > 0 {
			all := map[string]any{}
			for name, value := range *v {
				all[name] = value
			}
			o.write(key, all)
		}
		return
	}
	value, ok := o.take(key)
	if !ok {
		return
	}
	all, _ := o.decoded(value).(map[string]any)
	*v = map[string]string{}
	for name, value := range all {
		(*v)[name], _ = value.(string)
	}
}

// counts visits numbers by names that contain no secret; none are left out.
func (o *object) counts(key string, v *map[string]int) {
	if !o.reading && len(*v) == 0 {
		return
	}
	var texts map[string]string
	if !o.reading {
		texts = make(map[string]string, len(*v))
	}
	for name, n := range *v {
		texts[name] = strconv.Itoa(n)
	}
	if o.texts(key, &texts); !o.reading {
		return
	}
	for name, n := range texts {
		if *v == nil {
			*v = map[string]int{}
		}
		var err error
		if (*v)[name], err = strconv.Atoi(n); err != nil {
			o.fail(err)
		}
	}
}

// public visits data that contains no secret; null is written too.
func (o *object) public(key string, v *any) {
	if !o.reading {
		o.write(key, *v)
	} else if value, ok := o.take(key); ok {
		*v = o.decoded(value)
	}
}

// json visits JSON text that may be stored as it is; nil is left out.
func (o *object) json(key string, v *[]byte) {
	if !o.reading {
		if *v != nil {
			o.raw(key, *v)
		}
	} else if value, ok := o.take(key); ok {
		*v = bytes.Clone(value)
	}
}

// variables visits variables.
func (o *object) variables(key string, v *Vars) {
	if !o.reading {
		if len(*v) > 0 {
			o.write(key, o.secrets.Seal(map[string]any(*v)))
		}
	} else if value, ok := o.take(key); ok {
		members, _ := o.secrets.Open(o.decoded(value)).(map[string]any)
		*v = members
	}
}

// sealedJSON visits JSON text of the workflow's data, which may contain secrets; nil is left out.
func (o *object) sealedJSON(key string, v *[]byte) {
	value, ok := *v, *v != nil
	change := o.secrets.Seal
	if o.reading {
		value, ok = o.take(key)
		change = o.secrets.Open
	}
	if !ok {
		return
	}
	value, err := o.changed(value, change)
	switch {
	case err != nil:
		o.fail(err)
	case o.reading:
		*v = bytes.Clone(value) // a part of it would keep the whole text in memory
	default:
		o.raw(key, value)
	}
}

// changed returns JSON text after a change of its value.
func (o *object) changed(text []byte, change func(any) any) ([]byte, error) {
	if o.secrets == nil {
		return text, nil
	}
	v, err := expr.Decode(text)
	if err != nil {
		return nil, err
	}
	return expr.Encode(change(v))
}

func (o *object) decoded(value []byte) any {
	v, err := expr.Decode(value)
	if err != nil {
		o.fail(err)
	}
	return v
}

// smallData is the size in bytes up to which data is written without growing the buffer first: copying it is cheap.
const smallData = 4 << 10

// write writes a value that may be stored as it is.
func (o *object) write(key string, v any) {
	o.key(key)
	b, err := expr.AppendAtMost(o.b, v, smallData)
	if err == expr.ErrTooLong { // the buffer grows only once
		b, err = expr.Append(slices.Grow(o.b, jsonCapacity(v)+smallData), v)
	}
	if err != nil {
		o.fail(err)
		return
	}
	o.b = b
}

// jsonCapacity estimates the number of bytes of v as JSON, with a little room for escapes.
func jsonCapacity(v any) int {
	size := expr.EncodedSize(v, math.MaxInt)
	return size + size/32
}
