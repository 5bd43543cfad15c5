package jsonvalue

// Map returns a copy of v in which leaf has replaced each value that is neither an object nor an array.
func Map(v any, leaf func(any) any) any {
	switch v := v.(type) {
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = Map(item, leaf)
		}
		return items
	case map[string]any:
		members := make(map[string]any, len(v))
		for name, member := range v {
			members[name] = Map(member, leaf)
		}
		return members
	}
	return leaf(v)
}
