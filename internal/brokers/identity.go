package brokers

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// lasting begins the handles that are made from the publisher's id of a message.
const lasting = "id "

// identity returns the handle of a message with an id; empty without an id. Publishers choose the ids, and two different messages may share an id.
// Therefore the handle depends on the content too.
func identity(id string, payload []byte) string {
	if id == "" {
		return ""
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%d %s\n", len(id), id)
	sum.Write(payload)
	return fmt.Sprintf("%s%.12x", lasting, sum.Sum(nil))
}

// Lasts reports whether a handle names a message permanently, and no other message: its broker may send the message again late.
func Lasts(handle string) bool { return strings.HasPrefix(handle, lasting) }
