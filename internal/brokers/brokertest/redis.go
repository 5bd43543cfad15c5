package brokertest

import "fmt"

// Redis starts a server without persistence; options are options of its command line.
func Redis(options ...string) (*Broker, error) { return startRedis("--port", options) }

// startRedis starts a server whose port is set by an option.
func startRedis(port string, options []string) (*Broker, error) {
	b, err := started(1, func(ports []string) (*program, error) {
		command := append([]string{"redis-server", port, ports[0], "--bind", "127.0.0.1", "--save", ""}, options...)
		return &program{command: command, ready: "Ready to accept connections"}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("install the package redis-server: %w", err)
	}
	return b, nil
}
