// Command demo shows a fleet to a newcomer: it starts a Nomad server with three clients (in network namespaces, as if they were
// machines), PostgreSQL, an S3-compatible store and a web server for the package, runs a hunt on them by the commands that an
// administrator would type, and takes everything down again. `make fleet` calls it.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"misstep/internal/testenv"
	"misstep/internal/testenv/nomad"
	"misstep/internal/testenv/pgtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "make fleet:", err)
		os.Exit(1)
	}
}

// demo is what runs, and the environment of the commands.
type demo struct {
	dir string
	env []string
	off []func() error // ends what was started, the last one first
}

func run(ctx context.Context) (err error) {
	if err := nomad.Check(); err != nil {
		return err
	}
	d := &demo{dir: filepath.Join(testenv.Root(), "build", "fleet")}
	if err := errors.Join(os.RemoveAll(d.dir), os.MkdirAll(d.dir, 0o755)); err != nil {
		return err
	}
	defer func() {
		for _, end := range slices.Backward(d.off) {
			err = errors.Join(err, end())
		}
	}()
	began := time.Now()
	file, err := d.start(ctx)
	if err != nil {
		return err
	}
	// Whatever happens from here on, the fleet is taken down before what it runs on.
	d.off = append(d.off, func() error {
		_, err := d.misstep(context.WithoutCancel(ctx), "fleet", "down", file)
		return err
	})
	if err := d.hunt(ctx, file); err != nil {
		return err
	}
	fmt.Printf("\nthat took %v; all of it goes now\n", time.Since(began).Round(time.Second))
	return nil
}

// start starts what a fleet runs on and returns the path of its file.
func (d *demo) start(ctx context.Context) (file string, err error) {
	say("starting a Nomad server and three clients, PostgreSQL, an S3-compatible store and a web server")
	cluster, err := nomad.New(3)
	if err != nil {
		return "", err
	}
	d.off = append(d.off, cluster.Remove)
	database, err := pgtest.New()
	if err != nil {
		return "", err
	}
	d.off = append(d.off, func() error { database.Remove(); return nil })
	store, err := database.Create(ctx, "fleet")
	if err != nil {
		return "", err
	}
	bucket, stop, err := testenv.LaunchS3At(cluster.Host, filepath.Join(d.dir, "s3"))
	if err != nil {
		return "", err
	}
	d.off = append(d.off, func() error { stop(); return os.RemoveAll(filepath.Join(d.dir, "s3")) })
	web, err := net.Listen("tcp", net.JoinHostPort(cluster.Host, "0"))
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: http.FileServer(http.Dir(filepath.Join(d.dir, "web"))), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(web) }() // ends with ErrServerClosed
	d.off = append(d.off, func() error { return errors.Join(server.Close(), os.RemoveAll(filepath.Join(d.dir, "web"))) })

	d.env = append(os.Environ(), "NOMAD_ADDR="+cluster.Address, "NOMAD_TOKEN="+cluster.Token,
		"AWS_ACCESS_KEY_ID="+bucket.AccessKey, "AWS_SECRET_ACCESS_KEY="+bucket.SecretKey)
	file = filepath.Join(d.dir, "fleet.yaml")
	text := fmt.Sprintf(`name: demo
transport: plain_text
artefacts: {url: "http://%s"}
coordinators:
  count: 2
  store: %s
  blobs: s3://%s/hunt?endpoint=%s
  secrets: [AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY]
runners:
  - {name: plain, min: 1, max: 3}
`, web.Addr(), store, bucket.Bucket, bucket.Endpoint)
	fmt.Printf("\n$ cat %s\n%s", file, text)
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// hunt does what an administrator and a user would do.
func (d *demo) hunt(ctx context.Context, file string) error {
	if _, err := d.misstep(ctx, "fleet", "package", "-o", filepath.Join(d.dir, "web")); err != nil {
		return err
	}
	coordinators, err := d.misstep(ctx, "fleet", "up", file, "--put-secrets")
	if err != nil {
		return err
	}
	id, err := d.misstep(ctx, "campaign", "submit", "campaigns/fleet.yaml", "--coordinator", coordinators)
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"fleet", "scale", file, "3"}, {"fleet", "status", file}, {"runners", "--coordinator", coordinators},
	} {
		if _, err := d.misstep(ctx, args...); err != nil {
			return err
		}
	}
	say("waiting for the campaign")
	for state := ""; !strings.Contains(state, `"CAMPAIGN_STATE_DONE"`); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Second):
		}
		out, err := d.command(ctx, "campaign", "show", id, "--json", "--coordinator", coordinators).Output()
		if err != nil {
			return fmt.Errorf("campaign show: %w", err)
		}
		state = string(out)
	}
	if _, err := d.misstep(ctx, "campaign", "show", id, "--coordinator", coordinators); err != nil {
		return err
	}
	_, err = d.misstep(ctx, "findings", "list", "--coordinator", coordinators)
	return err
}

func say(text string) { fmt.Printf("\n== %s\n", text) }

func (d *demo) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "misstep", args...)
	command.Dir, command.Env, command.Stderr = testenv.Root(), d.env, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = time.Minute
	return command
}

// misstep shows a command, runs it, and shows and returns what it printed.
func (d *demo) misstep(ctx context.Context, args ...string) (string, error) {
	fmt.Printf("\n$ misstep %s\n", strings.Join(args, " "))
	out, err := d.command(ctx, args...).Output()
	fmt.Print(string(out))
	if err != nil {
		return "", fmt.Errorf("misstep %s: %w", strings.Join(args[:2], " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
