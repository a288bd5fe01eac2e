package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// apt is a private apt configuration: the host's sources with another suite, separate state and cache folders, and no installed
// packages, so that the host's apt is neither consulted nor changed. Signatures and digests are checked as usual.
type apt struct {
	dir     string // holds all files of this configuration
	suite   Suite
	options []string
	log     func(format string, args ...any)
}

// newApt writes the sources and folders below dir. etc is the host's apt configuration, /etc/apt.
func newApt(dir, etc string, suite Suite, log func(string, ...any)) (*apt, error) {
	for _, sub := range []string{"lists/partial", "cache/archives/partial", "sources"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, fmt.Errorf("making apt's folders: %w", err)
		}
	}
	sources, err := hostSources(etc, suite)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "sources", "suite.sources"), []byte(sources), 0o644); err != nil {
		return nil, fmt.Errorf("writing apt's sources: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "status"), nil, 0o644); err != nil {
		return nil, fmt.Errorf("writing apt's empty list of installed packages: %w", err)
	}
	a := &apt{dir: dir, suite: suite, log: log}
	for _, kv := range [][2]string{
		{"Dir::State", dir},
		{"Dir::State::lists", filepath.Join(dir, "lists")},
		{"Dir::State::status", filepath.Join(dir, "status")},
		{"Dir::Cache", filepath.Join(dir, "cache")},
		{"Dir::Etc::sourcelist", "/dev/null"},
		{"Dir::Etc::sourceparts", filepath.Join(dir, "sources")},
		{"Dir::Etc::preferences", "/dev/null"},
		{"Dir::Etc::preferencesparts", "/dev/null"},
		{"APT::Default-Release", ""},
		{"APT::Architecture", "amd64"},
		{"APT::Architectures", "amd64"},
		{"APT::Sandbox::User", ""}, // the folder may be accessible to its owner only
		{"APT::Update::Error-Mode", "any"},
		{"Acquire::Languages", "none"},
		{"Acquire::Retries", "3"},
		{"Acquire::IndexTargets::deb::DEP-11::DefaultEnabled", "false"},
		{"Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled", "false"},
	} {
		a.options = append(a.options, "-o", kv[0]+"="+kv[1])
	}
	return a, nil
}

// run runs one of apt's programs in dir and returns its stdout.
func (a *apt) run(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, append(append([]string{}, a.options...), args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "APT_CONFIG=", "DEBIAN_FRONTEND=noninteractive")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("%s is not installed: the kernel is fetched by apt, on Debian; elsewhere copy the folder "+
			"cache/vm/%s from a Debian host", name, a.suite.Label("kernel"))
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, lastLines(stderr.String(), 3))
	}
	return stdout.Bytes(), nil
}

// update fetches the package lists.
func (a *apt) update(ctx context.Context) error {
	a.log("fetching the list of packages of Debian's suite %s", a.suite)
	_, err := a.run(ctx, a.dir, "apt-get", "-q", "update")
	return err
}

// search returns the packages whose names match the pattern, as apt-cache shows them.
func (a *apt) search(ctx context.Context, pattern string) ([]Package, error) {
	out, err := a.run(ctx, a.dir, "apt-cache", "search", "--names-only", pattern)
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if name, _, ok := strings.Cut(line, " - "); ok {
			names = append(names, strings.TrimSpace(name))
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	out, err = a.run(ctx, a.dir, "apt-cache", append([]string{"show", "--no-all-versions"}, names...)...)
	if err != nil {
		return nil, err
	}
	return parsePackages(out)
}

// download puts the packages' files into dir, verified by apt against the signed lists.
func (a *apt) download(ctx context.Context, dir string, packages []Package) error {
	args := []string{"-q", "download"}
	for _, p := range packages {
		a.log("fetching %s %s (%d MiB)", p.Name, p.Version, p.Size>>20)
		args = append(args, p.Name+"="+p.Version)
	}
	_, err := a.run(ctx, dir, "apt-get", args...)
	return err
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "; ")
}
