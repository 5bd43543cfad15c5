package dsl

// Source is the text of a document and the place of everything in it.
type Source struct {
	File string
	Text []byte
}

// Key returns where the key of p stands (/do/0/greet: the word greet), or the nearest enclosing place that exists.
func (s *Source) Key(p Pointer) Range { panic("parser") }

// Value returns where the value of p stands, or the nearest enclosing place that exists.
func (s *Source) Value(p Pointer) Range { panic("parser") }

// Within returns where the bytes [from, to) of the string value of p stand, through quotes, escapes and block
// scalars. Offsets outside the value are moved to its ends.
func (s *Source) Within(p Pointer, from, to int) Range { panic("parser") }

// Data returns the value of p as plain JSON data (nil, bool, int, float64, json.Number for numbers that fit
// neither, string, []any, map[string]any), or nil if there is none. The result is shared: do not write to it.
func (s *Source) Data(p Pointer) any { panic("parser") }
