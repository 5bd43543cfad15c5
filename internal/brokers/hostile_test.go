package brokers_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/brokers"
)

// hostileServer answers each connection with a greeting and then, for every thing that it reads, with the next answer; the last one again and
// again. An answer that is empty is silence.
type hostileServer struct {
	answers []string
	endless string // what is sent without end after the answers
}

func (h hostileServer) start(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the test is over
			}
			serving.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(t.Context(), func() { conn.Close() })()
				h.serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		serving.Wait()
	})
	return listener.Addr().String()
}

func (h hostileServer) serve(conn net.Conn) {
	buffer := make([]byte, 64<<10)
	for _, answer := range h.answers {
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
		if _, err := conn.Read(buffer); err != nil {
			return
		}
	}
	for sent := 0; h.endless != "" && sent < 1<<30; sent += len(h.endless) {
		if _, err := io.WriteString(conn, h.endless); err != nil {
			return
		}
	}
	_, _ = io.Copy(io.Discard, conn) // until the client has gone
}

// allocated is how many bytes this process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func natsHello(rest string) []string {
	return []string{"INFO {\"server_id\":\"x\",\"version\":\"2.10.0\",\"proto\":1,\"headers\":true,\"max_payload\":1048576}\r\n", "PONG\r\n" + rest}
}

// mqttPacket returns a packet whose announced length is that of its body unless another is given.
func mqttPacket(kind byte, body string, announced ...int) string {
	length := len(body)
	if len(announced) > 0 {
		length = announced[0]
	}
	packet := []byte{kind}
	for more := true; more; {
		digit := byte(length % 128)
		if length /= 128; length > 0 {
			digit |= 0x80
		}
		more = length > 0
		packet = append(packet, digit)
	}
	return string(packet) + body
}

func amqpFrame(kind byte, channel uint16, body string, announced ...uint32) string {
	size := uint32(len(body))
	if len(announced) > 0 {
		size = announced[0]
	}
	frame := binary.BigEndian.AppendUint16([]byte{kind}, channel)
	frame = binary.BigEndian.AppendUint32(frame, size)
	return string(frame) + body + "\xce"
}

// amqpHello are the answers to the handshake of AMQP 0.9.1, up to an open channel.
func amqpHello(rest string) []string {
	table := func(text string) string {
		return string(binary.BigEndian.AppendUint32(nil, uint32(len(text)))) + text
	}
	start := amqpFrame(1, 0, "\x00\x0a\x00\x0a\x00\x09"+table("")+table("PLAIN")+table("en_US"))
	tune := amqpFrame(1, 0, "\x00\x0a\x00\x1e\x00\x00\x00\x02\x00\x00\x00\x00")
	return []string{start, tune, amqpFrame(1, 0, "\x00\x0a\x00\x29\x00"), amqpFrame(1, 1, "\x00\x14\x00\x0b\x00\x00\x00\x00") + rest}
}

func kafkaAnswer(announced uint32, rest string) string {
	return string(binary.BigEndian.AppendUint32(nil, announced)) + rest
}

// hostile are servers that say what would end a client, or fill its memory.
func hostile() map[string]map[string]hostileServer {
	line, huge := strings.Repeat("a", 64<<10), "99999999999999"
	silent := hostileServer{}
	connack3, connack5 := mqttPacket(0x20, "\x00\x00"), mqttPacket(0x20, "\x00\x00\x00")
	return map[string]map[string]hostileServer{
		"nats": {
			"announced size":                {answers: natsHello("MSG c 1 " + huge + "\r\n")},
			"announced size of all":         {answers: natsHello("HMSG c 1 10 " + huge + "\r\n")},
			"announced size of headers":     {answers: natsHello("HMSG c 1 " + huge + " " + huge + "\r\n")},
			"headers beyond the message":    {answers: natsHello("HMSG c 1 20 10\r\n")},
			"number beyond 64 bits":         {answers: natsHello("MSG c 1 99999999999999999999999999\r\n")},
			"number that becomes small":     {answers: natsHello("MSG c 1 18446744073709551617\r\n")},
			"negative size":                 {answers: natsHello("MSG c 1 -5\r\n")},
			"size behind an early end":      {answers: natsHello("MSG c 1 1\r\nx\nMSG c 1 200\r\nMSG c 1 " + huge + "\r\n")},
			"size in lower case, with tabs": {answers: natsHello("msg\tc\t1\t" + huge + "\n")},
			"endless line":                  {answers: natsHello("INFO {"), endless: line},
			"endless nothing":               {answers: natsHello(""), endless: line},
			"endless greeting":              {endless: line},
			"endless headers":               {answers: natsHello("HMSG c 1 1000000 1000000\r\n"), endless: line},
			"deep nesting":                  {answers: []string{"INFO " + strings.Repeat(`{"a":`, 40_000) + "\r\n"}},
			"broken frame":                  {answers: natsHello("MSG\r\n\x00\x01\x02")},
			"silence":                       silent,
		},
		"redis": {
			"announced size":   {answers: []string{"$" + huge + "\r\n"}},
			"announced list":   {answers: []string{"*2000000000\r\n"}},
			"behind a text":    {answers: []string{"$1\r\nxab$" + huge + "\r\n"}},
			"endless line":     {endless: "+" + line},
			"endless subject":  {answers: []string{"*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"}, endless: line},
			"deep nesting":     {answers: []string{strings.Repeat("*1\r\n", 100_000)}},
			"broken frame":     {answers: []string{"\x00\x01\x02\r\n"}},
			"silence":          silent,
			"many empty lists": {endless: strings.Repeat("*1000\r\n", 1000)},
		},
		"mqtt": {
			"announced size":             {answers: []string{connack3, mqttPacket(0x30, "", 268435455)}},
			"announced size of a hello":  {answers: []string{mqttPacket(0x20, "", 268435455)}},
			"length without end":         {answers: []string{connack3, "\x30\xff\xff\xff\xff\xff\xff"}},
			"more codes than were asked": {answers: []string{connack3, mqttPacket(0x90, "\x00\x01\x01\x01\x01")}},
			"broken frame":               {answers: []string{connack3, "\xf0\x02\x00\x00"}},
			"message without a topic":    {answers: []string{connack3, mqttPacket(0x32, "\xff\xff")}},
			"endless":                    {answers: []string{connack3}, endless: line},
			"silence":                    silent,
		},
		"mqtt5": {
			"announced size":             {answers: []string{connack5, mqttPacket(0x30, "", 268435455)}},
			"announced size of a hello":  {answers: []string{mqttPacket(0x20, "", 268435455)}},
			"length without end":         {answers: []string{connack5, "\x30\xff\xff\xff\xff\xff\xff"}},
			"more codes than were asked": {answers: []string{connack5, mqttPacket(0x90, "\x00\x01\x00\x01\x01\x01")}},
			"no code":                    {answers: []string{connack5, mqttPacket(0x90, "\x00\x01\x00")}},
			"properties beyond it":       {answers: []string{mqttPacket(0x20, "\x00\x00\xff\xff\xff\x7f")}},
			"authentication":             {answers: []string{connack5, mqttPacket(0xf0, "\x18\x00")}},
			"broken frame":               {answers: []string{connack5, "\x00\x02\x00\x00"}},
			"endless":                    {answers: []string{connack5}, endless: line},
			"silence":                    silent,
		},
		"amqp": {
			"announced size":              {answers: []string{amqpFrame(1, 0, "", 0xffffffff)}},
			"announced text":              {answers: []string{amqpFrame(1, 0, "\x00\x0a\x00\x0a\x00\x09\xff\xff\xff\xff")}},
			"announced message":           {answers: amqpHello(amqpFrame(2, 1, "\x00\x3c\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00"))},
			"sign of life on a channel":   {answers: amqpHello(amqpFrame(8, 1, ""))},
			"header that is cut":          {answers: amqpHello(amqpFrame(2, 1, "\x00"))},
			"unknown class":               {answers: amqpHello(amqpFrame(1, 1, "\xff\xff\xff\xff"))},
			"hello again":                 {answers: amqpHello(amqpFrame(1, 0, "\x00\x0a\x00\x29\x00"))},
			"deep nesting":                {answers: []string{amqpFrame(1, 0, "\x00\x0a\x00\x0a\x00\x09"+strings.Repeat("\x00\x01\x00\x00\x01aF", 10_000))}},
			"broken frame":                {answers: []string{"HTTP/1.1 400 Bad Request\r\n\r\n"}},
			"a broker of another version": {answers: []string{"AMQP\x00\x00\x09\x01"}},
			"endless":                     {endless: line},
			"silence":                     silent,
		},
		"amqp1": {
			"announced size": {answers: []string{"AMQP\x03\x01\x00\x00", "\xff\xff\xff\xff\x02\x01\x00\x00"}},
			"announced list": {answers: []string{"AMQP\x03\x01\x00\x00", "\x00\x00\x00\x16\x02\x01\x00\x00\x00\x53\x40\xd0\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00"}},
			"deep nesting":   {answers: []string{"AMQP\x03\x01\x00\x00", string(binary.BigEndian.AppendUint32(nil, 60_008)) + "\x02\x01\x00\x00" + strings.Repeat("\x00", 60_000)}},
			"broken frame":   {answers: []string{"AMQP\x03\x01\x00\x00", "\x00\x00\x00\x01\x02\x01\x00\x00"}},
			"endless":        {endless: line},
			"silence":        silent,
		},
		"kafka": {
			"announced size":  {answers: []string{kafkaAnswer(0x7fffffff, "")}},
			"negative size":   {answers: []string{kafkaAnswer(0x80000000, "")}},
			"announced list":  {answers: []string{kafkaAnswer(12, "\x00\x00\x00\x00\x00\x00\x7f\xff\xff\xff\x00\x00")}},
			"size, then rest": {answers: []string{kafkaAnswer(900_000, "\x00\x00\x00\x00\x00\x00\x00\x0d\xbb\x80")}, endless: line},
			"broken frame":    {answers: []string{kafkaAnswer(4, "\xff\xff\xff\xff")}},
			"endless":         {endless: line},
			"silence":         silent,
		},
		"ws": {
			"announced size": {answers: []string{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"}},
			"endless line":   {answers: []string{"HTTP/1.1 101 "}, endless: line},
			"endless header": {answers: []string{"HTTP/1.1 101 Switching Protocols\r\n"}, endless: strings.Repeat("x: y\r\n", 10_000)},
			"announced body": {answers: []string{"HTTP/1.1 400 Bad\r\nContent-Length: " + huge + "\r\n\r\n"}},
			"broken frame":   {answers: []string{"\x00\x01\x02\r\n\r\n"}},
			"silence":        silent,
		},
	}
}

// TestHostileBrokers has servers that announce what never comes, never end, or break their protocol. A client ends with an error, does not take
// more memory than a few messages of the allowed size, and ends at once when its context does.
func TestHostileBrokers(t *testing.T) {
	for protocol, servers := range hostile() {
		for name, server := range servers {
			t.Run(protocol+"/"+strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
				address := server.start(t)
				told := protocol != "kafka" && protocol != "amqp1" && protocol != "ws" && (strings.HasPrefix(name, "announced size") || strings.HasPrefix(name, "endless line"))
				verbs := map[string]func(context.Context, *brokers.Client) error{
					"publish":   func(ctx context.Context, c *brokers.Client) error { return c.Publish(ctx, sent()) },
					"subscribe": received,
				}
				for verb, call := range verbs {
					ctx, cancel := context.WithCancel(soon(t))
					if !told { // the client may wait for more
						time.AfterFunc(300*time.Millisecond, cancel)
					}
					before := allocated()
					err := call(ctx, client(protocol, address, "c"))
					switch took := allocated() - before; {
					case took > 32<<20: // a message may have 1 MiB
						t.Errorf("%s: %d MiB were allocated", verb, took>>20)
					case errors.Is(context.Cause(ctx), errTooLong):
						t.Errorf("%s: it has not ended: %v", verb, err)
					case told && !errors.Is(err, brokers.ErrTooLarge), err == nil && verb == "subscribe":
						t.Errorf("%s: got %v", verb, err)
					}
					cancel()
				}
			})
		}
	}
}

// received returns why nothing can be received any more.
func received(ctx context.Context, c *brokers.Client) error {
	s, err := c.Subscribe(ctx, "subscription")
	if err != nil {
		return err
	}
	defer s.Close(false)
	for {
		if _, err := s.Receive(ctx); err != nil {
			return err
		}
	}
}
