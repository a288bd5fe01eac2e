package postgres

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"

	"misstep/coordinator/store"
)

// parameters are the settings of each connection, unless the URL has them. A coordinator that is cut off must not keep the others
// waiting: the server ends its transaction when it hears nothing.
var parameters = map[string]string{
	"application_name":                    "misstep",
	"idle_in_transaction_session_timeout": "60s",
	"synchronous_commit":                  "on",
	"tcp_keepalives_count":                "3",
	"tcp_keepalives_idle":                 "10",
	"tcp_keepalives_interval":             "5",
	"tcp_user_timeout":                    "25s",
}

// unheard is how long this end waits for a server that is cut off: as long as the server does for this end.
const unheard = 25 * time.Second

// connectTime bounds an attempt to connect, unless the URL or the environment does.
const connectTime = 5 * time.Second

// maxMessage bounds a message of the server, such as a row, in bytes. Somebody in the server's place, before anybody has proved who
// it is, could otherwise have gibibytes taken. Rows have 32 MiB at most, as calls have.
const maxMessage = 256 << 20

func configure(url string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("expected postgres://USER@HOST:PORT/DATABASE: %w", err)
	}
	config.MaxProtocolMessageBodyLen = maxMessage
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTime
	}
	for name, value := range parameters {
		if _, set := config.RuntimeParams[name]; !set {
			config.RuntimeParams[name] = value
		}
	}
	dialer := &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3},
		Control: func(network, _ string, c syscall.RawConn) (err error) {
			if !strings.HasPrefix(network, "tcp") {
				return nil
			}
			failed := c.Control(func(fd uintptr) {
				err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(unheard.Milliseconds()))
			})
			return errors.Join(failed, err)
		},
	}
	config.DialFunc = dialer.DialContext
	return config, nil
}

// explain adds the remedy to an error of opening a database, and store.ErrAway where waiting may help.
func explain(err error, c *pgx.ConnConfig) error {
	if isAway(err) {
		return awayError{remedied(err, c)}
	}
	return remedied(err, c)
}

// awayError is an error that is also store.ErrAway, which its text does not repeat.
type awayError struct{ error }

func (e awayError) Unwrap() []error { return []error{e.error, store.ErrAway} }

// isAway reports whether the error of a connection is of a server that does not answer, or not yet. A host whose name is unknown, a
// role or database that is refused, and TLS that does not fit stay as they are.
func isAway(err error) bool {
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch failure.Code {
		case "53300", "57P01", "57P02", "57P03": // no connection is free; it shuts down, crashed, or starts
			return true
		}
		return strings.HasPrefix(failure.Code, "08") // the connection
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return !dns.IsNotFound
	}
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, driver.ErrBadConn)
}

func remedied(err error, c *pgx.ConnConfig) error {
	remedy := ""
	failure, _ := errors.AsType[*pgconn.PgError](err)
	dns, _ := errors.AsType[*net.DNSError](err)
	switch {
	case failure != nil:
		remedy = map[string]string{
			"28000": fmt.Sprintf("let the role %s connect (createuser, pg_hba.conf), or give another as postgres://ROLE@…", c.User),
			"28P01": "give the role's password in ~/.pgpass or PGPASSWORD",
			"3D000": fmt.Sprintf("make it with createdb %s, or correct the URL", c.Database),
			"42501": fmt.Sprintf("make the role %s the owner of the database %s, or grant it CREATE on the schema", c.User,
				c.Database),
			"53300": "raise max_connections of the server",
			"57P03": "try again when the server has started",
		}[failure.Code]
	case strings.Contains(err.Error(), "refused TLS"): // pgconn has no type for it
		remedy = "turn on TLS in the server (ssl = on), or ask for less by sslmode in the URL or PGSSLMODE"
	case dns != nil:
		remedy = "correct the host in the URL or in PGHOST"
	case pgconn.Timeout(err) || isConnect(err):
		remedy = fmt.Sprintf("start the server, or correct the host and port (%s, %d) in the URL or in PGHOST and PGPORT", c.Host,
			c.Port)
	}
	if remedy == "" {
		return err
	}
	return fmt.Errorf("%w; %s", err, remedy)
}

func isConnect(err error) bool {
	_, ok := errors.AsType[*pgconn.ConnectError](err)
	return ok
}
