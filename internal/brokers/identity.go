package brokers

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// lasting begins the handles that are made of what who publishes calls a message.
const lasting = "id "

// identity returns the handle of a message that has an id; empty if it has none. Ids are up to who publishes: two different messages may have the
// same, so that the handle says what is in them too.
func identity(id string, payload []byte) string {
	if id == "" {
		return ""
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%d %s\n", len(id), id)
	sum.Write(payload)
	return fmt.Sprintf("%s%.12x", lasting, sum.Sum(nil))
}

// Lasts reports whether a handle names a message, and no other one, however long ago it came: its broker may send it again late.
func Lasts(handle string) bool { return strings.HasPrefix(handle, lasting) }
