package kvstore

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/swrun/swrun/runtime/store"
)

// The database holds, for each partition p (four digits), under "p/<p>/":
//
//	clock                  highest time of a write
//	offset                 added to the clock to get the partition's time
//	jumps                  number of jumps of the clock
//	repairs                number of repairs by Scrub
//	outbox-last            number of the newest outbox entry
//	<set>/<time>/<i>       places of runs: waiting, held, closed (store.Place); the value is the owner
//	<set>/<namespace>/<time>/<id>
//	                       the same: new, begun
//	quarantined/<i>        quarantined runs, in any set
//	unreadable/<i>         runs that could not be read
//	retrying/<i>           runs that retry a task: 1 for a run that waits for the retry, 2 for a run held by a worker
//	needs/<need> <namespace>/<time>/<id>
//	                       needs of waiting runs, with the start of the wait (store.NeedEntries)
//	listeners/<filter> <i> filters of listening runs (store.ListenEntries)
//	lease/<worker>         end of the worker's lease
//	index/<time>/<i>       every run, in the order of creation
//	queue/<queue>/<namespace>/<time>/<id> <effect>
//	                       activities that workers may take from that time on
//	activities/<time>/<i> <effect>
//	                       activities with a deadline, by the first one
//	permit/<queue>/<holder>
//	                       end of a held permit of a queue; 0 for unlimited
//	permit-begun/<queue>/<time>/<holder>
//	                       effects of a queue that began within the span of its rate
//	outbox/<number>        data to deliver to other runs
//	seen/<id>              time of each message and command of the last day
//	seen-at/<time>/<id>    the same, by time
//	family/<day>/<i>       number of runs of the run's family that started here on a day
//	family/<day>/<i> <kind>
//	                       number of requests on a day, in all partitions (store.Asked); in partition 0
//	i/<i>/record           store.Lifecycle
//	i/<i>/mail             number of messages delivered to it, if any
//	i/<i>/info             as given to Start
//	i/<i>/head, context    parts of the state
//	i/<i>/frame/<id>       one frame
//	i/<i>/history/<n>      time, token and data of an entry
//	i/<i>/inbox/<n>        one message
//	i/<i>/payload/<ref>    data that is stored separately
//	i/<i>/activity/<effect>, activity-input/<effect>
//	                       an activity
//
// <i> is namespace/id. Further keys are "layout", "definition/<key>", and the keys of the registry. The registry uses the time of partition 0,
// which also contains the counters registry-version, the last version in use, and registry-count/<kind>:
//
//	registry/<kind>/<key>              version, end and value of an entry
//	registry-ends/<time>/<kind>/<key>  the same, by its end
const (
	layoutKey        = "layout"
	definitionPrefix = "definition/"
	listenersPart    = "listeners/"
	quarantinedPart  = "quarantined/"
	retryingPart     = "retrying/"
	unlistedPart     = "runs/" // the prefix of cursors of Scrub in the data of runs
)

// number writes n so that keys sort like numbers.
func number(n int64) string { return fmt.Sprintf("%017d", n) }

func parseNumber(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) // written by number
	return n
}

// setPrefix returns the prefix of the keys of a set.
func (p *partition) setPrefix(s store.Set) string { return p.prefix + string(s) + "/" }

// never is the time in the key of a run without a time: it sorts after all times.
const never = 1 << 53

// placeKey returns the key of a run at a place.
func (p *partition) placeKey(i store.Instance, at store.Place) string {
	ms := int64(never)
	if !at.At.IsZero() {
		ms = store.Millis(at.At)
	}
	if isClaimed(at.Set) {
		return p.setPrefix(at.Set) + i.Namespace + "/" + number(ms) + "/" + i.ID
	}
	return p.setPrefix(at.Set) + number(ms) + "/" + i.String()
}

// isClaimed reports whether runs of a set may be claimed. In such a set the namespace precedes the time in the key, so that no namespace
// precedes another's runs by time.
func isClaimed(s store.Set) bool { return s == store.SetNew || s == store.SetBegun }

// placed reads the time, zero for never, and the run of a key of a set.
func (p *partition) placed(s store.Set, key string) (at time.Time, i store.Instance) {
	if !isClaimed(s) {
		return indexed(key, p.setPrefix(s))
	}
	namespace, rest, _ := strings.Cut(strings.TrimPrefix(key, p.setPrefix(s)), "/")
	ms, id, _ := strings.Cut(rest, "/")
	return store.Moment(parseNumber(ms)), store.Instance{Namespace: namespace, ID: id}
}

// quarantinedKey returns the key that marks a run as quarantined.
func (p *partition) quarantinedKey(i store.Instance) string {
	return p.prefix + quarantinedPart + i.String()
}

// retryKey returns the key that marks a run as retrying a task.
func (p *partition) retryKey(i store.Instance) string {
	return p.prefix + retryingPart + i.String()
}

// indexKey returns the key of a run in the order of creation.
func (p *partition) indexKey(i store.Instance, created time.Time) string {
	return p.prefix + "index/" + number(store.Millis(created)) + "/" + i.String()
}

func (p *partition) key(i store.Instance, part string) string {
	return p.prefix + "i/" + i.String() + "/" + part
}

// indexed reads the time, zero for never, and the run of a key of a set.
func indexed(key, prefix string) (at time.Time, i store.Instance) {
	n, rest, _ := strings.Cut(strings.TrimPrefix(key, prefix), "/")
	if ms := parseNumber(n); ms != never {
		at = store.Moment(ms)
	}
	return at, store.InstanceOf(rest)
}
