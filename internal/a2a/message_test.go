package a2a

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// counted counts the number of reads.
type counted struct {
	io.Reader
	reads int
}

func (c *counted) Read(to []byte) (int, error) {
	c.reads++
	return c.Reader.Read(to)
}

// TestLargeEventsAreSearchedSeldom: the reader of a stream gets complete events, even if they arrive in small pieces, and does not get each piece.
func TestLargeEventsAreSearchedSeldom(t *testing.T) {
	for name, event := range map[string]string{
		"one line":        "data: " + strings.Repeat("x", 1<<18) + "\n\n",
		"many lines":      strings.Repeat("data: x\n", 1<<15) + "\n",
		"carriage return": strings.Repeat("data: x\r\n", 1<<15) + "\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := &counted{Reader: &wholeEvents{Reader: iotest.OneByteReader(io.MultiReader(strings.NewReader(event), iotest.ErrReader(io.ErrUnexpectedEOF)))}}
			buffer, had := make([]byte, 4096), 0
			for !strings.HasSuffix(string(buffer[max(had-4, 0):had]), "\n\n") && !strings.HasSuffix(string(buffer[max(had-4, 0):had]), "\r\n\r\n") {
				if had == len(buffer) { // the scanner of the library grows its buffer in this way
					buffer = append(buffer, make([]byte, len(buffer))...)
				}
				n, err := r.Read(buffer[had:])
				if had += n; err != nil {
					t.Fatal(err)
				}
			}
			if had != len(event) || r.reads > 20 {
				t.Errorf("%d bytes of %d after %d reads", had, len(event), r.reads)
			}
		})
	}
}

// TestStreamsAreReadToTheirLastResult: a stream is read only up to a result that is marked as the last.
func TestStreamsAreReadToTheirLastResult(t *testing.T) {
	const event = `data: {"jsonrpc":"2.0","id":1,"result":{"kind":"status-update","taskId":"t","contextId":"c","final":%t,"status":{"state":"working"}}}` + "\n\n"
	stream := io.MultiReader(strings.NewReader(fmt.Sprintf(event, false)+fmt.Sprintf(event, true)), iotest.ErrReader(io.ErrUnexpectedEOF))
	var all []json.RawMessage
	for result, err := range MethodOf("message/stream", V03).Results(stream, 1<<20) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, result)
	}
	if len(all) != 2 {
		t.Errorf("got %s", all)
	}
}
