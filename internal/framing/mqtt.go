package framing

import "net"

// MQTT follows the data of a broker in MQTT 3.1.1 or 5. Its libraries allocate memory for a packet when they have read its length. The library of
// MQTT 3.1.1 panics on an answer to more subscriptions than it has requested. This client requests one subscription at a time.
func (g *Guard) MQTT(conn net.Conn, version int) net.Conn {
	m := &mqttPackets{guard: g, version: version}
	return g.over(conn, m.follow)
}

// mqttPackets follows packets: a byte with the type, one to four bytes with the length of the rest, the rest.
type mqttPackets struct {
	guard   *Guard
	version int
	kind    byte
	digits  int // arrived digits of the length
	length  int
	began   bool
	skip    int
}

const (
	// mqttExtra is the maximum size of a packet besides the payload, in bytes: a topic, and the properties of MQTT 5.
	mqttExtra = 256 << 10
	// mqttSmall is the maximum size of a packet without a message, in bytes.
	mqttSmall   = 256 << 10
	mqttPublish = 3
	mqttSuback  = 9
)

func (m *mqttPackets) follow(p []byte) error {
	for len(p) > 0 {
		if skipped := min(m.skip, len(p)); skipped > 0 {
			m.skip -= skipped
			p = p[skipped:]
			continue
		}
		if !m.began {
			m.began, m.kind, m.digits, m.length = true, p[0]>>4, 0, 0
		} else if err := m.digit(p[0]); err != nil {
			return err
		}
		p = p[1:]
	}
	return nil
}

// digit handles a byte of a length.
func (m *mqttPackets) digit(b byte) error {
	const digits, bits, more = 4, 7, 0x80
	m.length |= int(b&^more) << (bits * m.digits)
	if m.digits++; b&more != 0 {
		if m.digits == digits {
			return ErrBroken
		}
		return nil
	}
	m.began, m.skip = false, m.length
	most := mqttSmall
	if m.kind == mqttPublish {
		most = m.guard.Most + mqttExtra
	}
	const answered = 3 // the number of the request, and one code
	switch {
	case m.length > most:
		return ErrTooLarge
	case m.kind == mqttSuback && m.version < 5 && m.length > answered:
		return ErrBroken
	}
	return nil
}
