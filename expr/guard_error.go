package expr

// shownBytes is how much of a value gojq's errors show. All of a text is read for that, and all members of an object
// are sorted. An expression may fail, and catch it, in a loop.
const shownBytes = 32

// failing charges for the error of a native, which shows what it was given.
func (m *meter) failing(input any, args []any) bool {
	ok := m.describing(input)
	for _, arg := range args {
		ok = ok && m.describing(arg)
	}
	return ok
}

// describing charges for an error that shows v.
func (m *meter) describing(v any) bool {
	_, ok := m.showing(v, shownBytes)
	return ok
}

// showing charges for the beginning of v, and returns how many of the bytes are left.
func (m *meter) showing(v any, room int) (left int, ok bool) {
	switch v := v.(type) {
	case string:
		return room - min(weight(v), room), m.reading(v)
	case []any:
		ok = true
		for i := 0; i < len(v) && room > 0 && ok; i++ {
			room, ok = m.showing(v[i], room-1)
		}
		return room - 1, ok
	case map[string]any:
		if !m.sorting(v) {
			return 0, false
		}
		return m.showingMembers(v, room)
	}
	return room - min(weight(v), room), m.scalar(v)
}

// showingMembers charges for the beginning of an object, whose members have been sorted; only a few have room.
func (m *meter) showingMembers(v map[string]any, room int) (left int, ok bool) {
	name, found := nextName(v, nil)
	for found && room > 0 {
		if room, ok = m.showing(name, room-1); !ok {
			return 0, false
		}
		if room, ok = m.showing(v[name], room-1); !ok {
			return 0, false
		}
		name, found = nextName(v, &name)
	}
	return room - 1, true
}

// nextName returns the first of all names, or the first behind another.
func nextName(v map[string]any, after *string) (next string, found bool) {
	for name := range v {
		if (after == nil || name > *after) && (!found || name < next) {
			next, found = name, true
		}
	}
	return next, found
}

// following charges for the error that the machine makes of v if it follows paths and v is not where it has come to.
func (m *meter) following(v any) bool {
	return !engine.strays(m.machine, v) || m.describing(v)
}

// charging returns a native that charges for its input, and returns it.
func charging(charge func(m *meter, input any, args []any) bool) native {
	return func(input any, args []any) any {
		if !charge(meterOf(args), input, args) {
			return halt()
		}
		return input
	}
}

// iterate charges jq's .[], which copies what it iterates over before the first item, and sorts members.
func iterate(m *meter, input any, _ []any) bool {
	if !isContainer(input) {
		return m.describing(input)
	}
	_, isObject := input.(map[string]any)
	n := length(input)
	return (!isObject || m.sorting(input)) && (n < 2 || m.spend(2*itemSize*n)) && m.following(input)
}

// reach charges .[n] and .[a:b] with constants, which the jq machine looks up without a native.
func reach(m *meter, input any, _ []any) bool {
	switch input.(type) {
	case string, nil:
		return m.reading(input)
	case []any:
		return m.following(input)
	}
	return m.describing(input)
}

// name charges .name, which costs nothing for an object.
func name(m *meter, input any, _ []any) bool {
	switch input.(type) {
	case nil:
		return true
	case map[string]any:
		return m.following(input)
	}
	return m.describing(input)
}

// key charges for the key of an object, which is read to find its place.
func key(m *meter, input any, _ []any) bool {
	if _, ok := input.(string); ok {
		return m.reading(input)
	}
	return m.describing(input)
}

// end charges for the end of a path.
func end(m *meter, input any, _ []any) bool { return m.following(input) }

// match charges for taking the input apart by patterns of the shape in its argument.
func match(m *meter, input any, args []any) bool {
	return m.following(input) && m.matching(input, args[0])
}
