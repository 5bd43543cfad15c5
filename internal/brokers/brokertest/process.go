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

// slowest is how long a broker may take to start on a machine that is busy.
const slowest = 2 * time.Minute

// program is a broker that is a process of its own.
type program struct {
	command []string
	env     []string // besides that of this process
	ready   string   // what it prints when it answers
}

// started starts a server on ports that are free. Somebody else may take one before the server does: then others are tried.
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

// freePorts returns ports at which nobody listens. They are none of those that the system gives to outgoing connections.
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

// run starts a server and returns when it answers. It ends with this process too, however that ends: a shell waits for that.
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
		held.Close()   // now it is killed
		command.Wait() // it was killed on purpose
	}
	late := time.AfterFunc(slowest, func() { held.Close() })
	defer late.Stop()
	var log strings.Builder
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if strings.Contains(lines.Text(), s.ready) {
			go io.Copy(io.Discard, said) // until it ends, which closes the pipe
			return stop, nil
		}
		fmt.Fprintln(&log, lines.Text())
	}
	stop()
	return nil, fmt.Errorf("%s does not start:\n%s", s.command[0], log.String())
}
