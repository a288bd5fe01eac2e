package doctest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oauth2-proxy/mockoidc"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv"
	"misstep/internal/testenv/oidctest"
	"misstep/internal/testenv/pgtest"
)

// patience is how long one page may take. On a machine with nothing else to do none takes a quarter of it.
const patience = 6 * time.Minute

// bench is what the sessions share.
type bench struct {
	bin, home, agent, hunt string
	release                string // a folder with the archive of make dist and its checksum
	jdks                   map[string]string
	s3                     testenv.S3
	postgres               *pgtest.Server
	oidc                   *oidctest.Provider
	table                  *Table
}

// TestPages runs every page as it is written. It must not write to the catalogue of the tests: each session has a copy of its
// entries.
func TestPages(t *testing.T) {
	b := prepare(t)
	pages, err := Pages(testenv.Root())
	require.NoError(t, err)
	var cpu atomic.Int64
	t.Run("page", func(t *testing.T) {
		for i, page := range pages {
			if !slices.ContainsFunc(page.Fences, func(f Fence) bool { return f.Skip == "" }) {
				continue
			}
			t.Run(strings.TrimSuffix(filepath.Base(page.Name), ".md"), func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				for _, f := range page.Fences {
					if f.Needs != "" && !b.has(f.Needs) {
						t.Logf("%s:%d is not run: this machine has no %s", page.Name, f.Line, f.Needs)
					}
				}
				begun := time.Now()
				result, err := b.session(t, page, i+1).Run(ctx)
				cpu.Add(int64(result.CPU))
				t.Logf("%d commands, %.1f s, %.1f s of CPU time",
					result.Commands, time.Since(begun).Seconds(), result.CPU.Seconds())
				require.NoError(t, err)
			})
		}
	})
	t.Logf("all pages: %.1f s of CPU time", time.Duration(cpu.Load()).Seconds())
}

// prepare builds misstep and has it hunt once, for the pages that begin with a finding.
func prepare(t *testing.T) *bench {
	b := &bench{home: testenv.Home(t), agent: testenv.Agent(t), bin: t.TempDir(), hunt: filepath.Join(t.TempDir(), "hunt")}
	var err error
	b.table, err = ReadTable(filepath.Join(testenv.Root(), "docs", "doctest.yaml"))
	require.NoError(t, err)
	b.jdks = map[string]string{}
	for _, name := range []string{"jdk17", "jdk25"} {
		b.jdks[name] = testenv.Catalogued(t, name).Path
	}
	if testenv.HasS3() {
		b.s3 = testenv.StartS3(t)
	}
	if _, err := pgtest.Binaries(); err == nil {
		b.postgres = pgtest.Start(t)
	}
	b.oidc = oidctest.Start(t)
	b.oidc.ApproveAll(&mockoidc.MockUser{Subject: "1", Email: "anna@example.org", EmailVerified: true, Groups: []string{"dev"}})
	build := exec.Command("go", "build", "-o", filepath.Join(b.bin, "misstep"), "./cmd/misstep")
	build.Dir = testenv.Root()
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	b.release = t.TempDir()
	dist := exec.Command("go", "run", ".", "-quick", "-version", "0.1.0", "-time", "0", "-binary", filepath.Join(b.bin, "misstep"),
		"-out", b.release)
	dist.Dir = filepath.Join(testenv.Root(), "deploy", "dist")
	output, err = dist.CombinedOutput()
	require.NoError(t, err, "%s", output)
	dir := t.TempDir()
	require.NoError(t, b.campaigns(dir, "hunt.yaml"))
	hunt := exec.Command(filepath.Join(b.bin, "misstep"), "hunt", "campaigns/hunt.yaml", "--dir", b.hunt)
	hunt.Dir, hunt.Env = dir, append(os.Environ(), "MISSTEP_HOME="+b.home, "MISSTEP_AGENT="+b.agent)
	output, err = hunt.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return b
}

// campaigns writes small versions of the repository's campaigns (all, or the named one) into a session's folder.
func (b *bench) campaigns(dir, name string) error {
	to := filepath.Join(dir, "campaigns")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(testenv.Root(), "campaigns", name))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		small := b.table.substitute("campaigns/"+filepath.Base(file), string(text))
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), []byte(small), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// session makes the folder of a page's session. The n-th page has the loopback addresses 127.0.n.*, so that pages can use the same
// ports at the same time.
func (b *bench) session(t *testing.T, page Page, n int) *Session {
	work := t.TempDir()
	home := filepath.Join(work, "home")
	values := map[string]string{
		"work": work, "root": testenv.Root(), "hunt": b.hunt, "release": b.release, "page": fmt.Sprint(n), "jdk17": b.jdks["jdk17"], "jdk25": b.jdks["jdk25"],
		"host": fmt.Sprintf("127.0.%d.1", n), "host2": fmt.Sprintf("127.0.%d.2", n), "s3": b.s3.Endpoint,
		"bucket": "s3://" + b.s3.Bucket, "issuer": b.oidc.Issuer(), "client": b.oidc.ClientID,
	}
	env := []string{
		"PATH=" + b.bin + ":" + filepath.Join(b.jdks["jdk17"], "bin") + ":" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + work,
		"MISSTEP_HOME=" + filepath.Join(home, "misstep"), "MISSTEP_AGENT=" + b.agent, "LC_ALL=C.UTF-8", "COLUMNS=250",
		"AWS_ACCESS_KEY_ID=" + b.s3.AccessKey, "AWS_SECRET_ACCESS_KEY=" + b.s3.SecretKey,
	}
	if b.postgres != nil {
		at, err := url.Parse(b.postgres.URL("misstep"))
		require.NoError(t, err)
		env = append(env, "PGHOST="+at.Query().Get("host"), "PGUSER="+pgtest.Superuser)
	}
	s := &Session{
		Page: page, Table: b.table, Dir: filepath.Join(work, "page"), Records: filepath.Join(work, "records"), Values: values,
		Env: env, Has: b.has,
	}
	for _, dir := range []string{s.Dir, s.Records} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	for _, entries := range []string{"jdks/jdk17.*", "jdks/jdk25.*", "workloads/*"} { // what make catalogue leaves
		require.NoError(t, copyEntries(b.home, entries, filepath.Join(home, "misstep")))
	}
	require.NoError(t, b.campaigns(s.Dir, "*.yaml"))
	return s
}

// has reports whether this machine has what a block needs.
func (b *bench) has(what string) bool {
	switch what {
	case "s3":
		return b.s3.Endpoint != ""
	case "postgres":
		return b.postgres != nil
	}
	_, err := exec.LookPath(what)
	return err == nil
}

// copyEntries copies the small files of a catalogue below a folder; the trees that they name stay where they are.
func copyEntries(from, pattern, to string) error {
	paths, err := filepath.Glob(filepath.Join(from, pattern))
	if err != nil {
		return err
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.Dir(pattern), filepath.Base(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, text, 0o644)); err != nil {
			return err
		}
	}
	return nil
}
