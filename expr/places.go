package expr

// Places bound how many evaluations build much data at the same time, and thereby the memory that evaluations take together. A nil *Places bounds
// nothing. It is safe for concurrent use.
type Places struct{ taken chan struct{} }

// NewPlaces returns n places; n is at least 1.
func NewPlaces(n int) *Places { return &Places{make(chan struct{}, n)} }

// Placed is an Env with places. An evaluation takes one of them when it has built more than unplacedBytes, and leaves it when it ends: small
// evaluations never wait. The wait is short, because the budget of each evaluation is limited, and evaluations with a place wait for nothing.
type Placed interface{ Places() *Places }

// unplacedBytes is the size of the data, as a meter counts it, that an evaluation builds without a place.
const unplacedBytes = 1 << 20

// place takes a place if the evaluation needs one and has none.
func (m *meter) place() {
	if m.placed || m.alloc > defaultLimits().alloc-unplacedBytes {
		return
	}
	m.placed = true
	if in, ok := m.env.(Placed); ok {
		if m.places = in.Places(); m.places != nil {
			m.places.taken <- struct{}{}
		}
	}
}

// leave leaves the place of the evaluation, if it has one.
func (m *meter) leave() {
	if m.places != nil {
		<-m.places.taken
		m.places = nil
	}
}
