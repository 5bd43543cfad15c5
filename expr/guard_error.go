package expr

// previewBytes is the number of bytes of a value in gojq's errors. To show them, gojq reads a whole text, or sorts all members of an object. This
// must be charged, because an expression may fail, and catch the error, in a loop.
const previewBytes = 32

// chargeError charges for the error of a native, which shows the input and the arguments.
func (m *meter) chargeError(input any, args []any) bool {
	ok := m.chargeBytes(errorSize) && m.chargePreview(input)
	for _, arg := range args {
		ok = ok && m.chargePreview(arg)
	}
	return ok
}

// chargePreview charges for an error that shows v.
func (m *meter) chargePreview(v any) bool {
	_, ok := m.chargePreviewOf(v, previewBytes)
	return ok
}

// chargePreviewOf charges for showing at most room bytes of v, and returns how many of them are left.
func (m *meter) chargePreviewOf(v any, room int) (left int, ok bool) {
	switch v := v.(type) {
	case string:
		return room - min(approximateSize(v), room), m.chargeReading(v)
	case []any:
		ok = true
		for i := 0; i < len(v) && room > 0 && ok; i++ {
			room, ok = m.chargePreviewOf(v[i], room-1)
		}
		return room - 1, ok
	case map[string]any:
		if !m.chargeMembers(v) {
			return 0, false
		}
		return m.chargePreviewOfMembers(v, room)
	}
	return room - min(approximateSize(v), room), m.chargeScalar(v)
}

// chargePreviewOfMembers charges for showing the first members of an object, after chargeMembers.
func (m *meter) chargePreviewOfMembers(v map[string]any, room int) (left int, ok bool) {
	name, found := nextName(v, nil)
	for found && room > 0 {
		if room, ok = m.chargePreviewOf(name, room-1); !ok {
			return 0, false
		}
		if room, ok = m.chargePreviewOf(v[name], room-1); !ok {
			return 0, false
		}
		name, found = nextName(v, &name)
	}
	return room - 1, true
}

// nextName returns the first of all names in order, or the first one after another.
func nextName(v map[string]any, after *string) (next string, found bool) {
	for name := range v {
		if (after == nil || name > *after) && (!found || name < next) {
			next, found = name, true
		}
	}
	return next, found
}

// chargePathError charges for the error that shows v if the machine follows a path and v is not the value at that path.
func (m *meter) chargePathError(v any) bool {
	return !engine.leavesPath(m.machine, v) || m.chargePreview(v)
}

// chargingNative returns a native that charges and returns its input.
func chargingNative(charge func(m *meter, input any, args []any) bool) native {
	return func(input any, args []any) any {
		if !charge(meterOf(args), input, args) {
			return haltError()
		}
		return input
	}
}

// chargeIterate charges for jq's .[], which copies its input before the first item, and sorts members.
func chargeIterate(m *meter, input any, _ []any) bool {
	if !isContainer(input) {
		return m.chargePreview(input)
	}
	_, isObject := input.(map[string]any)
	n := length(input)
	return (!isObject || m.chargeMembers(input)) && (n < 2 || m.chargeBytes(2*itemSize*n)) && m.chargePathError(input)
}

// chargeConstantIndex charges for .[n] and .[a:b] with constants, which the jq machine looks up without a native.
func chargeConstantIndex(m *meter, input any, _ []any) bool {
	switch input.(type) {
	case string, nil:
		return m.chargeReading(input)
	case []any:
		return m.chargePathError(input)
	}
	return m.chargePreview(input)
}

// chargeName charges for .name, which is free for an object.
func chargeName(m *meter, input any, _ []any) bool {
	switch input.(type) {
	case nil:
		return true
	case map[string]any:
		return m.chargePathError(input)
	}
	return m.chargePreview(input)
}

// chargeKey charges for a computed key of an object, which is read to find its place.
func chargeKey(m *meter, input any, _ []any) bool {
	if _, ok := input.(string); ok {
		return m.chargeReading(input)
	}
	return m.chargePreview(input)
}

// chargeEndOfPath charges for the end of a path.
func chargeEndOfPath(m *meter, input any, _ []any) bool { return m.chargePathError(input) }

// chargePatterns charges for destructuring the input by patterns whose shape is the argument.
func chargePatterns(m *meter, input any, args []any) bool {
	return m.chargePathError(input) && m.chargeMatch(input, args[0])
}
