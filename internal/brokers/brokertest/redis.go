package brokertest

import "fmt"

// Redis starts one that keeps nothing; options are those of its command line.
func Redis(options ...string) (*Broker, error) { return startRedis("--port", options) }

// startRedis starts one that has its port by an option.
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
