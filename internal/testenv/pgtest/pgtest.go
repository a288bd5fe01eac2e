// Package pgtest starts PostgreSQL servers for tests, from Debian's package, on Unix sockets in folders of their own.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"misstep/internal/tied"
)

// Superuser is the name of the role that owns a server's databases.
const Superuser = "misstep"

// Server is a running server.
type Server struct {
	dir, bin   string
	credential *syscall.Credential // nil: the user who runs the tests
	settings   []string
	process    *exec.Cmd
}

// Binaries returns the folder of the server's programs, those of the newest version that is installed.
func Binaries() (string, error) {
	all, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(all) == 0 {
		return "", errors.Join(err, errors.New("no PostgreSQL server below /usr/lib/postgresql; run make setup-test"))
	}
	slices.SortFunc(all, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(all[len(all)-1]), nil
}

// version returns the N of /usr/lib/postgresql/N/bin/postgres.
func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

// Start starts a server that is as durable as one in use, for the duration of the test. The test is skipped where PostgreSQL is not
// installed.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	if _, err := Binaries(); err != nil {
		t.Skip(err)
	}
	s, err := start(settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.remove)
	return s
}

// New starts a server for a program that is no test; the caller calls Remove.
func New(settings ...string) (*Server, error) { return start(settings...) }

// Remove stops the server and deletes its databases.
func (s *Server) Remove() { s.remove() }

// Create makes an empty database and returns its URL.
func (s *Server) Create(ctx context.Context, name string) (string, error) {
	c, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return "", err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, "CREATE DATABASE "+name)
	return s.URL(name), err
}

// start makes a server in a temporary folder. PostgreSQL refuses to run as root, so root starts it as another user.
func start(settings ...string) (*Server, error) {
	bin, err := Binaries()
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, settings: settings}
	// Not below the test's folder, whose path is too long for a socket and closed to other users.
	if s.dir, err = os.MkdirTemp("/tmp", "misstep-pg-"); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 {
		if s.credential, err = unprivileged(); err != nil {
			return nil, errors.Join(err, os.RemoveAll(s.dir))
		}
		if err := os.Chown(s.dir, int(s.credential.Uid), int(s.credential.Gid)); err != nil {
			return nil, errors.Join(err, os.RemoveAll(s.dir))
		}
	}
	initdb := s.command("initdb", "-D", s.data(), "-U", Superuser, "--auth=trust", "--no-sync", "--encoding=UTF8",
		"--locale=C.UTF-8")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %w\n%s", err, out), os.RemoveAll(s.dir))
	}
	if err := s.Run(); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

// unprivileged returns the user postgres, whom Debian's package makes, or nobody.
func unprivileged() (*syscall.Credential, error) {
	var all error
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			all = errors.Join(all, err)
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
	}
	return nil, all
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.Dir = s.dir
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.credential}
	return c
}

// Run starts the server's process and waits until it answers; for a server that was killed or stopped.
func (s *Server) Run() error {
	args := []string{"-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "shared_buffers=32MB"}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	s.process = s.command("postgres", args...)
	s.process.Stdout, s.process.Stderr = log, log
	if err := tied.Start(s.process); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		c, err := pgx.Connect(ctx, s.URL("postgres"))
		if err == nil {
			return c.Close(ctx)
		}
		if ctx.Err() != nil {
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("the PostgreSQL server does not answer: %w\n%s", err, text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Kill ends every process of the server with SIGKILL. What it wrote to the disk's cache stays.
func (s *Server) Kill() {
	_ = s.process.Process.Signal(syscall.SIGSTOP) // it starts no more
	children := s.children()
	s.end(syscall.SIGKILL)
	for _, pid := range children {
		var err error
		// The memory that they share is in use until the last of them has ended, even if nobody has waited for it.
		for deadline := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// children are the server's processes below its first one.
func (s *Server) children() (all []int) {
	pid := s.process.Process.Pid
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for child := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(child); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// Pause stops every process of the server until Resume: connections stay, and nothing is answered.
func (s *Server) Pause() error {
	if err := s.process.Process.Signal(syscall.SIGSTOP); err != nil { // first, so that it starts no more
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	for _, pid := range s.children() {
		_ = syscall.Kill(pid, syscall.SIGSTOP) // it may have ended
	}
	return nil
}

// Resume lets a server that was stopped go on.
func (s *Server) Resume() {
	for _, pid := range append(s.children(), s.process.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
}

// Stop shuts the server down; connections are closed.
func (s *Server) Stop() { s.end(syscall.SIGINT) }

func (s *Server) end(signal syscall.Signal) {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(signal)
	_ = s.process.Wait()
	s.process = nil
}

func (s *Server) remove() {
	s.end(syscall.SIGQUIT)
	_ = os.RemoveAll(s.dir)
}

// URL returns the URL of a database for the superuser.
func (s *Server) URL(database string) string { return s.URLAs(Superuser, database) }

// URLAs returns the URL of a database for a role.
func (s *Server) URLAs(role, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(role), Path: "/" + database, RawQuery: url.Values{"host": {s.dir}}.Encode()}
	return u.String()
}

var databases atomic.Int64

// Database makes an empty database and returns its URL.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test%d", databases.Add(1))
	s.Exec(t, "postgres", "CREATE DATABASE "+name)
	return s.URL(name)
}

// Exec runs statements in a database as the superuser.
func (s *Server) Exec(t testing.TB, database, statements string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := pgx.Connect(ctx, s.URL(database))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.PgConn().Exec(ctx, statements).ReadAll(); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

// shared is the server of this process's tests that need a database and no server of their own.
var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Database makes an empty database on a server that the process's tests share, and returns its URL. That server forgets everything
// when the machine crashes, and is quick. The package's TestMain must call VerifyTestMain, which stops the server.
func Database(t testing.TB) string {
	t.Helper()
	if _, err := Binaries(); err != nil {
		t.Skip(err)
	}
	shared.once.Do(func() {
		shared.server, shared.err = start("fsync=off", "full_page_writes=off", "autovacuum=off", "max_connections=200")
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server.Database(t)
}

// VerifyTestMain is goleak's, and stops the shared server after the last test.
func VerifyTestMain(m goleak.TestingM, options ...goleak.Option) {
	goleak.VerifyTestMain(stopping{m}, options...)
}

// stopping stops the shared server after the tests.
type stopping struct{ goleak.TestingM }

func (m stopping) Run() int {
	code := m.TestingM.Run()
	if shared.server != nil {
		shared.server.remove()
	}
	return code
}
