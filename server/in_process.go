package server

import (
	"math"
	"net/http"
	"time"
)

// InProcess returns the handler of one operation, for the process that has opened the store. The caller is the owner of the store (TrustOwner), and waits for
// the store as long as it takes. Failed gets an error that is no refusal of the request: the answer then contains less of it than the caller may know.
func InProcess(c Config, operation string, failed func(error)) http.Handler {
	c.Authorize, c.AnyHost, c.ReadWithin, c.Rate = TrustOwner, true, math.MaxInt64/4*time.Nanosecond, math.MaxInt32
	c.only, c.failed = operation, failed
	return New(c)
}
