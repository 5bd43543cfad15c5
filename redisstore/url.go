package redisstore

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/swrun/swrun/errors"
	"github.com/swrun/swrun/runtime/store"
)

// This file parses the URL of a store. The URL is refused if a part of it would be ignored. No message contains its password.

// urlForm is how URLs of stores are written.
const urlForm = "redis://[USER:PASSWORD@]HOST:PORT[/DB]"

// maxDatabase is more than any server has.
const maxDatabase = 1 << 16

// URLError is a URL that cannot name a server.
type URLError struct{ Reason error }

func (e *URLError) Error() string { return e.Reason.Error() }

// Unwrap returns the error in the URL.
func (e *URLError) Unwrap() error { return e.Reason }

// parseURL parses a URL, and moves the parameters for Config into it.
func parseURL(rawURL string, c *Config) (*url.URL, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, unreadable(rawURL, err)
	}
	switch {
	case strings.Contains(u.Path+u.RawQuery+u.Fragment, "@"): // the password is cut where it should not be
		return nil, unreadable(rawURL, nil)
	case !slices.Contains([]string{"redis", "rediss", "redis+cluster", "rediss+cluster"}, u.Scheme):
		return nil, fmt.Errorf("the store's URL begins with %q: it must begin with redis://, rediss://, redis+cluster:// or rediss+cluster://", u.Scheme)
	case u.Opaque != "" || u.Hostname() == "":
		return nil, fmt.Errorf("the store's URL names no host: write %s", strings.Replace(urlForm, "redis:", u.Scheme+":", 1))
	case u.Fragment != "":
		return nil, errors.New("the store's URL has a # in it: write %23 in a password")
	}
	if err := checkPort(u.Port()); err != nil {
		return nil, err
	}
	if err := checkDatabase(u); err != nil {
		return nil, err
	}
	if err := splitSeeds(u); err != nil {
		return nil, err
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("the part after the ? of the store's URL cannot be read: write name=value&name=value")
	}
	if err := c.take(query); err != nil {
		return nil, err
	}
	u.RawQuery = query.Encode()
	return u, nil
}

func checkPort(port string) error {
	if n, err := strconv.Atoi(port); port != "" && (err != nil || n < 1 || n > 65535) {
		return fmt.Errorf("the store's URL has the port %q: it must be a number from 1 to 65535", port)
	}
	return nil
}

// splitSeeds separates the servers of a cluster, which are separated by commas: all but the first become parameters addr.
func splitSeeds(u *url.URL) error {
	seeds := strings.Split(u.Host, ",")
	if len(seeds) == 1 {
		return nil
	}
	if !strings.HasSuffix(u.Scheme, "+cluster") {
		return fmt.Errorf("the store's URL names %d servers: only %s+cluster:// takes several, which belong to one cluster", len(seeds), u.Scheme)
	}
	query := u.Query()
	for n, seed := range seeds {
		one := url.URL{Host: seed}
		if one.Hostname() == "" {
			return fmt.Errorf("the store's URL has an empty server among %d: write HOST:PORT,HOST:PORT", len(seeds))
		}
		if err := checkPort(one.Port()); err != nil {
			return err
		}
		if n > 0 {
			query.Add("addr", seed)
		}
	}
	u.Host, u.RawQuery = seeds[0], query.Encode()
	return nil
}

func checkDatabase(u *url.URL) error {
	name := strings.Trim(u.Path, "/")
	switch n, err := strconv.Atoi(name); {
	case name == "":
		return nil
	case strings.HasSuffix(u.Scheme, "+cluster"):
		return fmt.Errorf("the store's URL names the database %q: a cluster has none", name)
	case err != nil || n < 0 || n > maxDatabase:
		return fmt.Errorf("the store's URL names the database %q: it must be a number from 0", name)
	}
	return nil
}

// take takes the parameters of Config out of a URL's.
func (c *Config) take(query url.Values) error {
	if query.Has("deployment") {
		if c.Deployment = query.Get("deployment"); c.Deployment == "" {
			return errors.New("the store's URL has an empty deployment: name one, or leave it out")
		}
	}
	if query.Has("partitions") {
		text := query.Get("partitions")
		var err error
		if c.Partitions, err = strconv.Atoi(text); err != nil || c.Partitions < 1 || c.Partitions > store.MaxPartitions {
			return fmt.Errorf("the store's URL asks for %q partitions: it must be a number from 1 to %d", text, store.MaxPartitions)
		}
	}
	query.Del("deployment")
	query.Del("partitions")
	return nil
}

// unreadable returns the error of a URL that cannot be parsed. The reason is omitted if the URL may contain a password, since the reason
// quotes a part of the URL.
func unreadable(rawURL string, err error) error {
	shown := errors.MaskURL(rawURL)
	if strings.Contains(rawURL, "@") {
		return fmt.Errorf("the store's URL %s cannot be read: in a user and a password, each of / ? # @ : %% [ ] and space is written as %% and two digits, such as %%2F for /", shown)
	}
	return fmt.Errorf("the store's URL %s cannot be read: %w", shown, err)
}

// connect makes the client. Its own retries are off: this package repeats an operation under the same id.
func connect(rawURL string, c Config) (redis.UniversalClient, Config, error) {
	u, err := parseURL(rawURL, &c)
	if err != nil {
		return nil, c, &URLError{err}
	}
	if strings.HasSuffix(u.Scheme, "+cluster") {
		u.Scheme = strings.TrimSuffix(u.Scheme, "+cluster")
		o, err := redis.ParseClusterURL(u.String())
		if err != nil {
			return nil, c, &URLError{unreadable(rawURL, err)}
		}
		o.MaxRetries, o.DialerRetries, o.DisableIdentity = -1, 1, true
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		return redis.NewClusterClient(o), c, nil
	}
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, c, &URLError{unreadable(rawURL, err)}
	}
	o.MaxRetries, o.DialerRetries, o.DisableIdentity, o.ContextTimeoutEnabled = -1, 1, true, true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClient(o), c, nil
}

// probeWithin is how long a server is listened to that may speak another language.
const probeWithin = time.Second

// mismatched reports whether one side encrypts and the other does not. Both then wait for each other, so that
// without this check the call would hang.
func mismatched(ctx context.Context, client redis.UniversalClient) error {
	address, encrypted := addressOf(client), encrypts(client)
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	switch {
	case encrypted && speaksPlain(ctx, address):
		return fmt.Errorf("the server %s does not encrypt: write redis:// and not rediss://", address)
	case !encrypted && speaksTLS(ctx, address):
		return fmt.Errorf("the server %s encrypts connections: write rediss:// instead of redis://", address)
	}
	return nil
}

func addressOf(client redis.UniversalClient) string {
	if c, ok := client.(*redis.ClusterClient); ok {
		return c.Options().Addrs[0]
	}
	return client.(*redis.Client).Options().Addr
}

func encrypts(client redis.UniversalClient) bool {
	if c, ok := client.(*redis.ClusterClient); ok {
		return c.Options().TLSConfig != nil
	}
	return client.(*redis.Client).Options().TLSConfig != nil
}

// speaksPlain reports whether a server answers without encryption.
func speaksPlain(ctx context.Context, address string) bool {
	connection, err := dial(ctx, address)
	if err != nil {
		return false
	}
	defer connection.Close() // it was only to ask
	if _, err := connection.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	first := make([]byte, 1)
	n, _ := connection.Read(first) // a server that does not answer is not plain
	return n == 1 && (first[0] == '+' || first[0] == '-')
}

// speaksTLS reports whether a server answers the beginning of an encrypted connection. Its identity does not matter: no data is sent to it.
func speaksTLS(ctx context.Context, address string) bool {
	connection, err := dial(ctx, address)
	if err != nil {
		return false
	}
	defer connection.Close() // it was only to ask
	err = tls.Client(connection, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx)
	var alert tls.AlertError
	return err == nil || errors.As(err, &alert) // it may want a certificate
}

func dial(ctx context.Context, address string) (net.Conn, error) {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline() // the caller has set one
	return connection, connection.SetDeadline(deadline)
}
