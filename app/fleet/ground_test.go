package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"misstep/internal/testenv"
	"misstep/internal/testenv/nomad"
	"misstep/internal/testenv/pgtest"
)

// ground is what the fleets of all tests stand on: a Nomad cluster of three nodes, a database server, a bucket and a web server for
// packages. It is started once, as that takes as long as a test; each test has a database, a part of the bucket and a folder on the
// web server of its own.
type ground struct {
	cluster  *nomad.Cluster
	database *pgtest.Server
	bucket   testenv.S3
	dir      string // of the binaries, and of web, the folder of the web server
	url      string // of the web server
	sites    int
	off      []func() error // ends what was started, the last one first
}

// shared is nil until a test needs it, and after a test that failed, which may have left anything.
var shared *ground

func TestMain(m *testing.M) {
	code := m.Run()
	if err := shared.end(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// stand returns the ground; the test is skipped where it cannot be.
func stand(t *testing.T) *ground {
	t.Helper()
	if err := nomad.Check(); err != nil {
		t.Skip(err)
	}
	if _, err := pgtest.Binaries(); err != nil {
		t.Skip(err)
	}
	if !testenv.HasS3() {
		t.Skip("no S3 server; deploy/setup/install.sh test builds one")
	}
	if shared == nil {
		g := &ground{}
		if err := g.start(); err != nil {
			t.Fatal(errors.Join(err, g.end()))
		}
		shared = g
	}
	t.Cleanup(func() {
		if t.Failed() && shared != nil {
			t.Log(shared.cluster.Logs())
			if err := shared.end(); err != nil {
				t.Error(err)
			}
			shared = nil
		}
	})
	return shared
}

func (g *ground) start() (err error) {
	if g.dir, err = os.MkdirTemp("", "misstep-fleet-"); err != nil {
		return err
	}
	g.off = append(g.off, func() error { return os.RemoveAll(g.dir) })
	if err := os.Mkdir(g.web(), 0o755); err != nil {
		return err
	}
	if g.cluster, err = nomad.New(3); err != nil {
		return err
	}
	g.off = append(g.off, g.cluster.Remove)
	if g.database, err = pgtest.New(); err != nil {
		return err
	}
	g.off = append(g.off, func() error { g.database.Remove(); return nil })
	bucket, stop, err := testenv.LaunchS3At(g.cluster.Host, filepath.Join(g.dir, "s3"))
	if err != nil {
		return err
	}
	g.bucket = bucket
	g.off = append(g.off, func() error { stop(); return nil })
	listener, err := net.Listen("tcp", net.JoinHostPort(g.cluster.Host, "0"))
	if err != nil {
		return err
	}
	g.url = "http://" + listener.Addr().String()
	server := &http.Server{Handler: http.FileServer(http.Dir(g.web())), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	g.off = append(g.off, server.Close)
	return nil
}

func (g *ground) web() string { return filepath.Join(g.dir, "web") }

// build builds a binary of a version, once.
func (g *ground) build(t *testing.T, version string) string {
	t.Helper()
	binary := filepath.Join(g.dir, version, "misstep")
	if _, err := os.Stat(binary); err == nil {
		return binary
	}
	build := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "build", "-ldflags", "-s -w -X main.version="+version,
		"-o", binary, "./cmd/misstep")
	build.Dir = testenv.Root()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return binary
}

func (g *ground) end() (err error) {
	if g == nil {
		return nil
	}
	for len(g.off) > 0 {
		last := len(g.off) - 1
		err = errors.Join(err, g.off[last]())
		g.off = g.off[:last]
	}
	return err
}
