package brokertest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/rabbitmq/amqp091-go"

	"github.com/swrun/swrun/internal/certtest"
)

// RabbitMQ starts a broker that speaks AMQP 0.9.1 and AMQP 1.0, keeps its files in a folder, and has queues. Its user guest has the password guest.
func RabbitMQ(folder string, queues ...string) (*Broker, error) {
	return startRabbitMQ(folder, nil, queues)
}

// SecuredRabbitMQ is RabbitMQ with TLS at another port, for clients with a certificate of an authority. The certificate may be issued to a user.
func SecuredRabbitMQ(folder string, a *certtest.Authority, queues ...string) (*Broker, error) {
	return startRabbitMQ(folder, a, queues)
}

func startRabbitMQ(folder string, a *certtest.Authority, queues []string) (*Broker, error) {
	var secured string
	b, err := started(4, func(ports []string) (*program, error) {
		secured = net.JoinHostPort("127.0.0.1", ports[3])
		return rabbitMQ(folder, ports, a)
	})
	if err != nil {
		return nil, fmt.Errorf("install the package rabbitmq-server: %w", err)
	}
	if a != nil {
		b.Secured = secured
	}
	if err := MakeQueues(b.Address, queues...); err != nil {
		b.Stop()
		return nil, err
	}
	return b, nil
}

// rabbitMQ returns a server that leaves nothing outside of a folder, and is independent of other servers on this machine.
func rabbitMQ(folder string, ports []string, a *certtest.Authority) (*program, error) {
	folder = filepath.Join(folder, ports[0])
	config, plugins := "listeners.tcp.1 = 127.0.0.1:"+ports[0]+"\nlog.console = true\nlog.file = false\n", "[rabbitmq_amqp1_0].\n"
	if a != nil {
		f, err := writeFiles(folder, a)
		if err != nil {
			return nil, err
		}
		plugins = "[rabbitmq_amqp1_0,rabbitmq_auth_mechanism_ssl].\n"
		config += "listeners.ssl.1 = 127.0.0.1:" + ports[3] + "\nssl_options.cacertfile = " + f.authority + "\nssl_options.certfile = " + f.certificate +
			"\nssl_options.keyfile = " + f.key + "\nssl_options.verify = verify_peer\nssl_options.fail_if_no_peer_cert = true\n" +
			"ssl_cert_login_from = common_name\nauth_mechanisms.1 = EXTERNAL\nauth_mechanisms.2 = PLAIN\nauth_mechanisms.3 = AMQPLAIN\nauth_mechanisms.4 = ANONYMOUS\n"
	}
	for name, text := range map[string]string{"rabbitmq.conf": config, "plugins": plugins} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	command := "/usr/lib/rabbitmq/bin/rabbitmq-server" // of Debian, where the command on the path runs as another user
	if _, err := os.Stat(command); err != nil {
		command = "rabbitmq-server"
	}
	// It has its own port mapper of Erlang, which ends with the broker.
	const both = `epmd -port "$ERL_EPMD_PORT" & exec "$0"`
	return &program{command: []string{"sh", "-c", both, command}, ready: "Server startup complete", env: []string{
		"HOME=" + folder, "RABBITMQ_CONF_ENV_FILE=/dev/null", "RABBITMQ_CONFIG_FILE=" + filepath.Join(folder, "rabbitmq.conf"),
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + filepath.Join(folder, "plugins"), "RABBITMQ_MNESIA_BASE=" + folder, "RABBITMQ_LOG_BASE=" + folder,
		"RABBITMQ_NODENAME=test" + ports[0] + "@localhost", "RABBITMQ_DIST_PORT=" + ports[1], "ERL_EPMD_PORT=" + ports[2], "ERL_EPMD_ADDRESS=127.0.0.1",
	}}, nil
}

// MakeQueues creates queues.
func MakeQueues(address string, queues ...string) error {
	conn, err := amqp091.Dial("amqp://guest:guest@" + address)
	if err != nil {
		return err
	}
	defer conn.Close()
	channel, err := conn.Channel()
	if err != nil {
		return err
	}
	for _, name := range queues {
		const durable, autoDelete, exclusive, noWait = true, false, false, false
		if _, err := channel.QueueDeclare(name, durable, autoDelete, exclusive, noWait, nil); err != nil {
			return err
		}
	}
	return nil
}
