package jdk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"misstep/corpus/tree"
	"misstep/internal/capped"
)

type debian struct {
	feature int
	suite   string
}

var debianSource = regexp.MustCompile(`^debian:openjdk-([0-9]{1,3})(?:@([a-z][a-z0-9.+-]*))?$`)

func parseDebian(source string) (importer, error) {
	match := debianSource.FindStringSubmatch(source)
	if match == nil {
		return nil, errors.New("want debian:openjdk-N or debian:openjdk-N@SUITE, e.g. debian:openjdk-21 or debian:openjdk-28@sid")
	}
	feature, err := strconv.Atoi(match[1])
	if err != nil {
		return nil, err
	}
	suite := match[2]
	if suite == "" {
		suite = defaultSuite(feature)
	}
	return debian{feature, suite}, nil
}

// defaultSuite returns the suite that had a feature version's newest supported build in November 2026: bookworm gets 17 by its
// security updates, trixie has 21 and 25, sid all others.
func defaultSuite(feature int) string {
	switch feature {
	case 17:
		return "bookworm-security"
	case 21, 25:
		return "trixie"
	default:
		return "sid"
	}
}

func (d debian) source() string { return fmt.Sprintf("debian:openjdk-%d@%s", d.feature, d.suite) }

// runtimePackages hold the libraries that every JVM needs: C library and loader, unwinder, C++ library, zlib.
var runtimePackages = []string{"libc6", "libgcc-s1", "libstdc++6", "zlib1g"}

func (d debian) fetch(ctx context.Context, work string, options AddOptions) (build, error) {
	for _, tool := range []string{"apt-get", "apt-cache", "dpkg-deb", "patchelf"} {
		if _, err := exec.LookPath(tool); err != nil {
			return build{}, fmt.Errorf("%w; on Debian run `apt-get install apt dpkg patchelf`", err)
		}
	}
	a, err := newApt(work, d.suite, options)
	if err != nil {
		return build{}, err
	}
	options.report("reading the package lists of "+d.suite, 0, 0)
	if err := a.update(ctx); err != nil {
		return build{}, err
	}
	if err := a.checkDates(ctx, filepath.Join(filepath.Dir(work), aptDatesFile)); err != nil {
		return build{}, err
	}
	jre, jdk := fmt.Sprintf("openjdk-%d-jre-headless", d.feature), fmt.Sprintf("openjdk-%d-jdk-headless", d.feature)
	options.report("downloading "+jdk, 0, 0)
	if err := a.download(ctx, append([]string{jre, jdk}, runtimePackages...)); err != nil {
		return build{}, err
	}
	options.report("unpacking", 0, 0)
	root, libs := filepath.Join(work, "root"), filepath.Join(work, "libs")
	packages, err := a.unpack(ctx, root, libs)
	if err != nil {
		return build{}, err
	}
	homes, err := fs.Glob(os.DirFS(root), fmt.Sprintf("usr/lib/jvm/java-%d-openjdk-*", d.feature))
	if err != nil || len(homes) != 1 {
		return build{}, fmt.Errorf("the packages hold %d folders usr/lib/jvm/java-%d-openjdk-*, expected one", len(homes),
			d.feature)
	}
	home := filepath.Join(root, homes[0])
	providers, unresolved, err := gatherSysroot(libs, home)
	if err != nil {
		return build{}, err
	}
	if len(unresolved) > 0 {
		// Some part of the JDK needs more than the four packages; its other dependencies may provide it.
		more, err := a.libraries(ctx, jre)
		if err != nil {
			return build{}, err
		}
		options.report(fmt.Sprintf("downloading %d libraries", len(more)), 0, 0)
		if err := a.download(ctx, more); err != nil {
			return build{}, err
		}
		if _, err := a.unpack(ctx, root, libs); err != nil {
			return build{}, err
		}
		if providers, unresolved, err = gatherSysroot(libs, home); err != nil {
			return build{}, err
		}
	}
	options.report("resolving links", 0, 0)
	assembled := filepath.Join(work, "home")
	if err := assemble(ctx, root, home, assembled); err != nil {
		return build{}, err
	}
	return build{home: assembled, packages: append(packages, providers...), unresolved: unresolved}, nil
}

// apt runs apt's tools with a private configuration: one suite, and sources, state, cache and an empty package status apart from
// the host's, which stay untouched. The host's other settings (proxies, certificates) apply.
type apt struct {
	dir, config, debs, suite string
}

const aptConfig = `Dir::State "%[1]s/state";
Dir::State::status "%[1]s/status";
Dir::Cache "%[1]s/cache";
Dir::Etc::sourcelist "%[1]s/suite.sources";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
APT::Sandbox::User "";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "3";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
`

func newApt(work, suite string, options AddOptions) (*apt, error) {
	files := options.AptSources
	if len(files) == 0 {
		var err error
		if files, err = aptSourceFiles(); err != nil {
			return nil, err
		}
	}
	sources, err := readAptSources(files)
	if err != nil {
		return nil, err
	}
	text, err := forSuite(sources, suite)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(work, "apt")
	a := &apt{dir: dir, config: filepath.Join(dir, "apt.conf"), debs: filepath.Join(dir, "debs"), suite: suite}
	if strings.ContainsAny(dir, "\"\n") {
		return nil, fmt.Errorf("apt cannot work in a folder named %q; set MISSTEP_HOME to one without quotation marks and line "+
			"breaks", dir)
	}
	for _, sub := range []string{"state/lists/partial", "cache/archives/partial", "debs"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	return a, errors.Join(
		os.WriteFile(filepath.Join(dir, "status"), nil, 0o644),
		os.WriteFile(filepath.Join(dir, "suite.sources"), []byte(text), 0o644),
		os.WriteFile(a.config, fmt.Appendf(nil, aptConfig, dir), 0o644),
	)
}

// UnreachableError reports that apt could not read the suite: no network, no such suite, an unknown key.
type UnreachableError struct {
	Suite string
	Err   error
}

// Error names the suite and contains apt's message.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("apt cannot read suite %q: %v; check the network, the suite's name, and that the host's apt sources work "+
		"(`apt-get update`)", e.Suite, e.Err)
}

// Unwrap returns apt's error.
func (e *UnreachableError) Unwrap() error { return e.Err }

func (a *apt) update(ctx context.Context) error {
	if _, err := a.run(ctx, a.dir, "apt-get", "update"); err != nil {
		return &UnreachableError{Suite: a.suite, Err: err}
	}
	return nil
}

func (a *apt) download(ctx context.Context, packages []string) error {
	_, err := a.run(ctx, a.debs, "apt-get", append([]string{"download"}, packages...)...)
	if err == nil {
		return nil
	}
	found, searchErr := a.run(ctx, a.dir, "apt-cache", "--names-only", "search", `^openjdk-[0-9]+-jdk-headless$`)
	if searchErr == nil && !strings.Contains(found, packages[0]) && strings.HasPrefix(packages[0], "openjdk-") {
		err = fmt.Errorf("%w; suite %q has %s", err, a.suite, strings.Join(foundJDKs(found), ", "))
	}
	return fmt.Errorf("download from suite %q: %w", a.suite, err)
}

// foundJDKs returns the JDKs in the lines of apt-cache search, whose text is the archive's.
func foundJDKs(found string) []string {
	var names []string
	for line := range strings.Lines(found) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); name != "" {
			names = append(names, strings.TrimSuffix(name, "-jdk-headless"))
		}
	}
	slices.Sort(names)
	return names
}

// libraries lists all library packages that the package depends on, directly or indirectly.
func (a *apt) libraries(ctx context.Context, name string) ([]string, error) {
	out, err := a.run(ctx, a.dir, "apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts",
		"--no-breaks", "--no-replaces", "--no-enhances", name)
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(out) {
		// Packages begin in the first column, virtual ones in <>; their dependencies are indented.
		if strings.HasPrefix(line, "lib") {
			names = append(names, strings.TrimSpace(line))
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// unpack extracts the downloaded packages: the JDK's into root, each other one into a folder of its name in libs. It returns the
// file names of the JDK's and deletes the package files.
func (a *apt) unpack(ctx context.Context, root, libs string) ([]string, error) {
	debs, err := fs.Glob(os.DirFS(a.debs), "*.deb")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range debs {
		deb := filepath.Join(a.debs, name)
		to := filepath.Join(libs, name)
		if strings.HasPrefix(name, "openjdk-") {
			to, names = root, append(names, name)
		}
		if err := os.MkdirAll(to, 0o755); err != nil {
			return nil, err
		}
		if _, err := a.run(ctx, a.dir, "dpkg-deb", "-x", deb, to); err != nil {
			return nil, err
		}
		if err := os.Remove(deb); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// run returns the stdout of a tool; its error contains the last lines of stderr.
func (a *apt) run(ctx context.Context, dir, tool string, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, tool, arguments...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "APT_CONFIG="+a.config, "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, capped.New(&stderr, maxOutput)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return "", fmt.Errorf("%s %s: %w%s", tool, arguments[0], err, tail(stderr.Bytes()))
	}
	return stdout.String(), nil
}

// assemble copies the JAVA_HOME home inside the unpacked root to the folder to, with Debian's links into /etc replaced by their
// target files. Links to files that none of the packages has (certificates, sources) and the documentation are left out.
func assemble(ctx context.Context, root, home, to string) error {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return err
	}
	if err := relativeLinks(root); err != nil {
		return err
	}
	documentation := filepath.Join(root, "usr/share/doc") + "/"
	m, err := tree.Scan(home, tree.InlineOutside(func(_, target string) bool {
		return strings.HasPrefix(target, root+"/") && !strings.HasPrefix(target, documentation)
	}))
	if err != nil {
		return err
	}
	return tree.Fetch(ctx, tree.Source(home, m), m.Digest(), to)
}

// relativeLinks makes absolute links below root relative, since they refer to root and not to the host's /.
func relativeLinks(root string) error {
	return filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink == 0 {
			return err
		}
		target, err := os.Readlink(name)
		if err != nil || !filepath.IsAbs(target) {
			return err
		}
		relative, err := filepath.Rel(filepath.Dir(name), filepath.Join(root, target))
		if err != nil {
			return err
		}
		if err := os.Remove(name); err != nil {
			return err
		}
		return os.Symlink(relative, name)
	})
}
