package vm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// JREModules are the default modules of a deterministic machine's Java: enough for the agent and the workloads.
var JREModules = []string{
	"java.base", "java.compiler", "java.desktop", "java.instrument", "java.logging", "java.management", "java.naming",
	"java.net.http", "java.sql",
	"java.xml", "jdk.attach", "jdk.jfr", "jdk.management", "jdk.unsupported", "jdk.zipfs",
}

// jdkSkip are the parts of a JDK that no program needs at run time.
var jdkSkip = []string{
	"jmods", "src.zip", "lib/src.zip", "lib/ct.sym", "man", "legal", "demo", "include", "sample", "docs",
	"release.txt",
}

// JRE returns a tree with the Java of javaHome, visible at the same path in the guest. jlink reduces it to the given modules (nil:
// JREModules; modules that this JDK lacks are left out), and a class data sharing archive is added so that it boots quickly; the
// result is cached in Misstep's folder home. A JDK without jlink or its modules is used unreduced, without sources and
// documentation.
func JRE(ctx context.Context, home, javaHome string, modules []string) (Tree, error) {
	javaHome, err := filepath.Abs(javaHome)
	if err != nil {
		return Tree{}, fmt.Errorf("vm: JDK %s: %w", javaHome, err)
	}
	whole := Tree{Host: javaHome, Skip: jdkSkip}
	if _, err := os.Stat(filepath.Join(javaHome, "bin", "java")); err != nil {
		return Tree{}, fmt.Errorf("vm: %s is not a JDK: %w", javaHome, err)
	}
	jlink := filepath.Join(javaHome, "bin", "jlink")
	if _, err := os.Stat(jlink); errors.Is(err, fs.ErrNotExist) {
		return whole, nil
	}
	if modules, err = presentModules(ctx, javaHome, modules); err != nil {
		return Tree{}, err
	}
	key, err := jreKey(javaHome, modules)
	if err != nil {
		return Tree{}, err
	}
	cached := Tree{Host: filepath.Join(home, "cache", "vm", "jre", key), Guest: javaHome}
	if _, err := os.Stat(filepath.Join(cached.Host, "bin", "java")); err == nil {
		return cached, nil
	}
	if err := os.MkdirAll(filepath.Dir(cached.Host), 0o755); err != nil {
		return Tree{}, fmt.Errorf("vm: making the cache of reduced JDKs: %w", err)
	}
	scratch, err := os.MkdirTemp(filepath.Dir(cached.Host), ".new-")
	if err != nil {
		return Tree{}, fmt.Errorf("vm: making the cache of reduced JDKs: %w", err)
	}
	defer os.RemoveAll(scratch)
	image := filepath.Join(scratch, "jre")
	out, err := exec.CommandContext(ctx, jlink, "--add-modules", strings.Join(modules, ","), "--output", image, "--no-header-files",
		"--no-man-pages").CombinedOutput()
	if err != nil {
		if ctx.Err() != nil {
			return Tree{}, fmt.Errorf("vm: jlink: %w", ctx.Err())
		}
		if strings.Contains(string(out), "jmods") || strings.Contains(string(out), "not found") { // a JDK without its jmods
			return whole, nil
		}
		return Tree{}, fmt.Errorf("vm: jlink of %s: %w: %s", javaHome, err, tail(strings.TrimSpace(string(out)), 3))
	}
	// An error can be ignored: without the archive Java merely starts more slowly.
	_ = exec.CommandContext(ctx, filepath.Join(image, "bin", "java"), "-Xshare:dump").Run()
	if err := os.Rename(image, cached.Host); err != nil {
		if _, statErr := os.Stat(filepath.Join(cached.Host, "bin", "java")); statErr != nil {
			return Tree{}, fmt.Errorf("vm: keeping a reduced JDK: %w", err)
		}
	}
	return cached, nil
}

// presentModules returns those of the wanted modules that the JDK has.
func presentModules(ctx context.Context, javaHome string, wanted []string) ([]string, error) {
	if len(wanted) == 0 {
		wanted = JREModules
	}
	out, err := exec.CommandContext(ctx, filepath.Join(javaHome, "bin", "java"), "--list-modules").Output()
	if err != nil {
		return nil, fmt.Errorf("vm: asking %s for its modules: %w", javaHome, err)
	}
	have := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), "@")
		have[name] = true
	}
	var modules []string
	for _, name := range wanted {
		if have[name] {
			modules = append(modules, name)
		}
	}
	slices.Sort(modules)
	return slices.Compact(modules), nil
}

// jreKey returns a reduced JDK's name in the cache, a digest of what it is made from: the VM, the JDK's release file, the modules.
func jreKey(javaHome string, modules []string) (string, error) {
	h := sha256.New()
	for _, name := range []string{"release", "lib/server/libjvm.so", "lib/modules"} {
		info, err := os.Stat(filepath.Join(javaHome, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("vm: JDK %s: %w", javaHome, err)
		}
		fmt.Fprintf(h, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		if name == "release" {
			digest, err := digestFile(filepath.Join(javaHome, name))
			if err != nil {
				return "", fmt.Errorf("vm: JDK %s: %w", javaHome, err)
			}
			fmt.Fprintln(h, digest)
		}
	}
	fmt.Fprintf(h, "%s\n%s\n", javaHome, strings.Join(modules, ","))
	return sum(h)[:32], nil
}
