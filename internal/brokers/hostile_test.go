package brokers_test

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/internal/brokers"
	"github.com/swrun/swrun/internal/brokers/brokertest"
)

func natsHello(rest string) []string {
	return []string{"INFO {\"server_id\":\"x\",\"version\":\"2.10.0\",\"proto\":1,\"headers\":true,\"max_payload\":1048576}\r\n", "PONG\r\n" + rest}
}

// mqttPacket returns a packet whose announced length is the length of its body, unless another length is given.
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

// hostile are servers whose data would end a client, or fill its memory.
func hostile() map[string]map[string]brokertest.Hostile {
	line, huge := strings.Repeat("a", 64<<10), "99999999999999"
	silent := brokertest.Hostile{}
	connack3, connack5 := mqttPacket(0x20, "\x00\x00"), mqttPacket(0x20, "\x00\x00\x00")
	return map[string]map[string]brokertest.Hostile{
		"nats": {
			"announced size":                {Answers: natsHello("MSG c 1 " + huge + "\r\n")},
			"announced size of all":         {Answers: natsHello("HMSG c 1 10 " + huge + "\r\n")},
			"announced size of headers":     {Answers: natsHello("HMSG c 1 " + huge + " " + huge + "\r\n")},
			"headers beyond the message":    {Answers: natsHello("HMSG c 1 20 10\r\n")},
			"number beyond 64 bits":         {Answers: natsHello("MSG c 1 99999999999999999999999999\r\n")},
			"number that becomes small":     {Answers: natsHello("MSG c 1 18446744073709551617\r\n")},
			"negative size":                 {Answers: natsHello("MSG c 1 -5\r\n")},
			"size behind an early end":      {Answers: natsHello("MSG c 1 1\r\nx\nMSG c 1 200\r\nMSG c 1 " + huge + "\r\n")},
			"size in lower case, with tabs": {Answers: natsHello("msg\tc\t1\t" + huge + "\n")},
			"endless line":                  {Answers: natsHello("INFO {"), Endless: line},
			"endless nothing":               {Answers: natsHello(""), Endless: line},
			"endless greeting":              {Endless: line},
			"endless headers":               {Answers: natsHello("HMSG c 1 1000000 1000000\r\n"), Endless: line},
			"deep nesting":                  {Answers: []string{"INFO " + strings.Repeat(`{"a":`, 40_000) + "\r\n"}},
			"broken frame":                  {Answers: natsHello("MSG\r\n\x00\x01\x02")},
			"silence":                       silent,
		},
		"redis": {
			"announced size":   {Answers: []string{"$" + huge + "\r\n"}},
			"announced list":   {Answers: []string{"*2000000000\r\n"}},
			"behind a text":    {Answers: []string{"$1\r\nxab$" + huge + "\r\n"}},
			"endless line":     {Endless: "+" + line},
			"endless subject":  {Answers: []string{"*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"}, Endless: line},
			"deep nesting":     {Answers: []string{strings.Repeat("*1\r\n", 100_000)}},
			"broken frame":     {Answers: []string{"\x00\x01\x02\r\n"}},
			"silence":          silent,
			"many empty lists": {Endless: strings.Repeat("*1000\r\n", 1000)},
		},
		"mqtt": {
			"announced size":             {Answers: []string{connack3, mqttPacket(0x30, "", 268435455)}},
			"announced size of a hello":  {Answers: []string{mqttPacket(0x20, "", 268435455)}},
			"length without end":         {Answers: []string{connack3, "\x30\xff\xff\xff\xff\xff\xff"}},
			"more codes than were asked": {Answers: []string{connack3, mqttPacket(0x90, "\x00\x01\x01\x01\x01")}},
			"broken frame":               {Answers: []string{connack3, "\xf0\x02\x00\x00"}},
			"message without a topic":    {Answers: []string{connack3, mqttPacket(0x32, "\xff\xff")}},
			"endless":                    {Answers: []string{connack3}, Endless: line},
			"silence":                    silent,
		},
		"mqtt5": {
			"announced size":             {Answers: []string{connack5, mqttPacket(0x30, "", 268435455)}},
			"announced size of a hello":  {Answers: []string{mqttPacket(0x20, "", 268435455)}},
			"length without end":         {Answers: []string{connack5, "\x30\xff\xff\xff\xff\xff\xff"}},
			"more codes than were asked": {Answers: []string{connack5, mqttPacket(0x90, "\x00\x01\x00\x01\x01\x01")}},
			"no code":                    {Answers: []string{connack5, mqttPacket(0x90, "\x00\x01\x00")}},
			"properties beyond it":       {Answers: []string{mqttPacket(0x20, "\x00\x00\xff\xff\xff\x7f")}},
			"authentication":             {Answers: []string{connack5, mqttPacket(0xf0, "\x18\x00")}},
			"broken frame":               {Answers: []string{connack5, "\x00\x02\x00\x00"}},
			"endless":                    {Answers: []string{connack5}, Endless: line},
			"silence":                    silent,
		},
		"amqp": {
			"announced size":              {Answers: []string{amqpFrame(1, 0, "", 0xffffffff)}},
			"announced text":              {Answers: []string{amqpFrame(1, 0, "\x00\x0a\x00\x0a\x00\x09\xff\xff\xff\xff")}},
			"announced message":           {Answers: amqpHello(amqpFrame(2, 1, "\x00\x3c\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00"))},
			"sign of life on a channel":   {Answers: amqpHello(amqpFrame(8, 1, ""))},
			"header that is cut":          {Answers: amqpHello(amqpFrame(2, 1, "\x00"))},
			"unknown class":               {Answers: amqpHello(amqpFrame(1, 1, "\xff\xff\xff\xff"))},
			"hello again":                 {Answers: amqpHello(amqpFrame(1, 0, "\x00\x0a\x00\x29\x00"))},
			"deep nesting":                {Answers: []string{amqpFrame(1, 0, "\x00\x0a\x00\x0a\x00\x09"+strings.Repeat("\x00\x01\x00\x00\x01aF", 10_000))}},
			"broken frame":                {Answers: []string{"HTTP/1.1 400 Bad Request\r\n\r\n"}},
			"a broker of another version": {Answers: []string{"AMQP\x00\x00\x09\x01"}},
			"endless":                     {Endless: line},
			"silence":                     silent,
		},
		"amqp1": {
			"announced size": {Answers: []string{"AMQP\x03\x01\x00\x00", "\xff\xff\xff\xff\x02\x01\x00\x00"}},
			"announced list": {Answers: []string{"AMQP\x03\x01\x00\x00", "\x00\x00\x00\x16\x02\x01\x00\x00\x00\x53\x40\xd0\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00"}},
			"deep nesting":   {Answers: []string{"AMQP\x03\x01\x00\x00", string(binary.BigEndian.AppendUint32(nil, 60_008)) + "\x02\x01\x00\x00" + strings.Repeat("\x00", 60_000)}},
			"broken frame":   {Answers: []string{"AMQP\x03\x01\x00\x00", "\x00\x00\x00\x01\x02\x01\x00\x00"}},
			"endless":        {Endless: line},
			"silence":        silent,
		},
		"kafka": {
			"announced size":  {Answers: []string{kafkaAnswer(0x7fffffff, "")}},
			"negative size":   {Answers: []string{kafkaAnswer(0x80000000, "")}},
			"announced list":  {Answers: []string{kafkaAnswer(12, "\x00\x00\x00\x00\x00\x00\x7f\xff\xff\xff\x00\x00")}},
			"size, then rest": {Answers: []string{kafkaAnswer(900_000, "\x00\x00\x00\x00\x00\x00\x00\x0d\xbb\x80")}, Endless: line},
			"broken frame":    {Answers: []string{kafkaAnswer(4, "\xff\xff\xff\xff")}},
			"endless":         {Endless: line},
			"silence":         silent,
		},
		"ws": {
			"announced size": {Answers: []string{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"}},
			"endless line":   {Answers: []string{"HTTP/1.1 101 "}, Endless: line},
			"endless header": {Answers: []string{"HTTP/1.1 101 Switching Protocols\r\n"}, Endless: strings.Repeat("x: y\r\n", 10_000)},
			"announced body": {Answers: []string{"HTTP/1.1 400 Bad\r\nContent-Length: " + huge + "\r\n\r\n"}},
			"broken frame":   {Answers: []string{"\x00\x01\x02\r\n\r\n"}},
			"silence":        silent,
		},
	}
}

// TestHostileBrokers: servers announce data that never comes, never end, or break their protocol. A client ends with an error, does not take more
// memory than a few messages of the allowed size, and ends immediately when its context ends.
func TestHostileBrokers(t *testing.T) {
	for protocol, servers := range hostile() {
		for name, server := range servers {
			t.Run(protocol+"/"+strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
				address := server.Start(t)
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
					before := brokertest.Allocated()
					err := call(ctx, client(protocol, address, "c"))
					switch took := brokertest.Allocated() - before; {
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

// received returns why no more messages can be received.
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
