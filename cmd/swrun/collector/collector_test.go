package collector

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func TestPercentage(t *testing.T) {
	for needed, want := range map[uint64]int{0: 400, 1: 400, 20 << 20: 400, 64 << 20: 400, 128 << 20: 200, 256 << 20: 100, 512 << 20: 50, 1 << 40: 50, math.MaxUint64: 50} {
		if got := percentFor(needed); got != want {
			t.Errorf("%d bytes: %d %%, want %d", needed, got, want)
		}
	}
}

// TestPace shows that the percentage follows the live data, up and down.
func TestPace(t *testing.T) {
	before := debug.SetGCPercent(floor / unit * usual) // GOGC may be set in the environment of the tests
	t.Cleanup(func() { debug.SetGCPercent(before) })
	afterCollection(floor / unit * usual)
	collect(t, func(percent uint64) bool { return percent == most })
	large := make([]byte, 4*little)
	collect(t, func(percent uint64) bool { return percent <= most/4 })
	runtime.KeepAlive(large)
	collect(t, func(percent uint64) bool { return percent == most })
}

// collect collects memory until the percentage satisfies wanted.
func collect(t *testing.T, wanted func(percent uint64) bool) {
	t.Helper()
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	for range 1000 {
		runtime.GC()
		if metrics.Read(sample); wanted(sample[0].Value.Uint64()) {
			return
		}
	}
	t.Fatalf("the percentage is %d", sample[0].Value.Uint64())
}
