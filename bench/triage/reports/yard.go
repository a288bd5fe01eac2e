package reports

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"

	"misstep/deploy/jdk"
)

// yard holds the compiled programs and the JDKs without symbols.
type yard struct {
	dir  string
	jdks []jdk.Entry
	lock sync.Mutex // of the JDKs without symbols
}

// sources of the planted programs.
const sources = "bench/triage/testdata/reports/"

func (y *yard) classes() string { return filepath.Join(y.dir, "classes") }

// openYard compiles the programs.
func openYard(ctx context.Context, dir string, jdks []jdk.Entry) (*yard, error) {
	y := &yard{dir: dir, jdks: builds(jdks)}
	i := slices.IndexFunc(jdks, func(j jdk.Entry) bool { return j.Feature == 17 && j.HasCompiler })
	if i < 0 {
		return nil, errors.New("the catalogue has no JDK 17 with a compiler; fill it with make catalogue")
	}
	home := jdks[i].Path
	if err := os.MkdirAll(y.classes(), 0o755); err != nil {
		return nil, fmt.Errorf("make a folder for the planted programs: %w", err)
	}
	java, err := filepath.Glob(sources + "*.java")
	if err != nil {
		return nil, fmt.Errorf("find the planted programs: %w", err)
	}
	include := filepath.Join(home, "include")
	native := []string{
		"cc", "-O1", "-w", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-fno-exceptions", "-shared", "-fPIC",
		"-pthread", "-I" + include, "-I" + filepath.Join(include, "linux"), "-o", filepath.Join(dir, "libvault.so"),
		sources + "reports.c", sources + "hang.c", sources + "ring.cpp",
	}
	for _, command := range [][]string{
		append([]string{
			filepath.Join(home, "bin", "javac"), "-nowarn", "-Xlint:-options", "-source", "8", "-target", "8", "-d", y.classes(),
		}, java...),
		native,
		{"strip", "-o", filepath.Join(dir, "unnamed.so"), filepath.Join(dir, "libvault.so")},
	} {
		if err := tell(ctx, command...); err != nil {
			return nil, err
		}
	}
	return y, nil
}

func tell(ctx context.Context, command ...string) error {
	if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("prepare the planted programs: %s: %w: %s", command[0], err, out)
	}
	return nil
}

// home returns the home of a JDK. One without symbols is a tree of links to the other, with a VM of its own; what finds its
// neighbours by its own path is copied.
func (y *yard) home(ctx context.Context, j jdk.Entry, stripped bool) (string, error) {
	if !stripped {
		return j.Path, nil
	}
	to := filepath.Join(y.dir, "stripped-"+j.Name)
	if _, err := os.Stat(to); err == nil {
		return to, nil
	}
	from, err := filepath.EvalSymlinks(j.Path)
	if err != nil {
		return "", fmt.Errorf("make a JDK without symbols: %w", err)
	}
	if err := tell(ctx, "cp", "-as", from, to+".new"); err != nil {
		return "", err
	}
	for _, own := range []string{
		"bin/java", "jre/bin/java", "lib/libjli.so", "lib/jli/libjli.so", "jre/lib/amd64/jli/libjli.so", "lib/amd64/jli/libjli.so",
		"lib/server/libjvm.so", "jre/lib/amd64/server/libjvm.so",
	} {
		original, copied := filepath.Join(from, own), filepath.Join(to+".new", own)
		if _, err := os.Stat(original); err != nil {
			continue
		}
		if err := os.Remove(copied); err != nil {
			return "", fmt.Errorf("make a JDK without symbols: %w", err)
		}
		tool := []string{"cp", "-P", original, copied} // bin/java of JDK 8 may be a relative link
		if filepath.Base(own) == "libjvm.so" {
			tool = []string{"strip", "-o", copied, original}
		}
		if err := tell(ctx, tool...); err != nil {
			return "", err
		}
	}
	if err := os.Rename(to+".new", to); err != nil {
		return "", fmt.Errorf("make a JDK without symbols: %w", err)
	}
	return to, nil
}
