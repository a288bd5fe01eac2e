package postgres

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"
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

func configure(url string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("expected postgres://USER@HOST:PORT/DATABASE: %w", err)
	}
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

// explain adds the remedy to an error of opening a database.
func explain(err error, c *pgx.ConnConfig) error {
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
