package brokertest

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// slowest is the maximum time for the start of a broker on a busy machine.
const slowest = 2 * time.Minute

// program is a broker in a process of its own.
type program struct {
	command []string
	env     []string // in addition to the environment of this process
	ready   string   // its output when it is ready
}

// started starts a server on free ports. If another process takes one before the server does, it tries other ports.
func started(ports int, describe func(ports []string) (*program, error)) (b *Broker, err error) {
	for range 5 {
		free, err := freePorts(ports)
		if err != nil {
			return nil, err
		}
		s, err := describe(free)
		if err != nil {
			return nil, err
		}
		var stop func()
		if stop, err = s.run(); err == nil {
			return &Broker{Address: net.JoinHostPort("127.0.0.1", free[0]), Stop: stop, Forgets: atOnce}, nil
		}
	}
	return nil, err
}

// freePorts returns ports without a listener. They are outside of the range that the system uses for outgoing connections.
func freePorts(n int) (ports []string, err error) {
	for range 1000 {
		port := strconv.Itoa(20000 + rand.IntN(10000))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		defer l.Close() // nothing is ever sent there
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("there are no free ports")
}

// run starts a server and returns when it is ready. A shell ends the server with this process, even if this process is killed.
func (s *program) run() (stop func(), err error) {
	const untilNobodyWaits = `{ "$@"; kill -9 0; } & read -r nothing; kill -9 0`
	command := exec.Command("sh", append([]string{"-c", untilNobodyWaits, "sh"}, s.command...)...)
	command.Env = append(command.Environ(), s.env...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	held, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	said, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		held.Close()   // this kills it
		command.Wait() // it was killed on purpose
	}
	late := time.AfterFunc(slowest, func() { held.Close() })
	defer late.Stop()
	var log strings.Builder
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if strings.Contains(lines.Text(), s.ready) {
			go io.Copy(io.Discard, said) // until the server ends, which closes the pipe
			return stop, nil
		}
		fmt.Fprintln(&log, lines.Text())
	}
	stop()
	return nil, fmt.Errorf("%s does not start:\n%s", s.command[0], log.String())
}
