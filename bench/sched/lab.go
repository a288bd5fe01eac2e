package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"misstep/deploy/vm"
	"misstep/deploy/vm/kernel"
	"misstep/internal/home"
)

const scxVersion = "1.1.4"

// lab holds what the machines are built from.
type lab struct {
	home, races, self, scx, scratch string
	java                            string // path of the program, in the guest too; empty: none
	jre                             vm.Tree
	kernel                          kernel.Kernel
	policy                          string            // digest of Misstep's scheduler
	replays                         string            // policy, and the digest of the code that chooses the places of a replay
	build                           string            // digest of this program, which is in each machine
	digests                         map[string]string // of the races
	only                            []string          // races to measure; empty: all
	seeds                           []uint64          // of cells to measure; empty: all
	libraries                       string            // folder of the programs of workloads/libraries; empty: not built
	jcstress                        string            // folder of jcstress's samples; empty: not fetched
}

// measures reports whether a race is to be measured.
func (l *lab) measures(race string) bool { return len(l.only) == 0 || slices.Contains(l.only, race) }

func newLab(ctx context.Context) (*lab, error) {
	l := &lab{home: home.Dir(), digests: map[string]string{}}
	var err error
	if l.races, err = filepath.Abs(filepath.Join(dir, "races")); err != nil {
		return nil, fmt.Errorf("finding the folder of the races: %w", err)
	}
	if err := os.MkdirAll(l.races, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of the races: %w", err)
	}
	if l.self, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	for _, command := range [][]string{
		{"workloads/races/build.sh", l.races},
		{"cc", "-O1", "-static", "-o", filepath.Join(l.races, "load"), "bench/sched/load/load.c"},
	} {
		if err := tool(ctx, nil, command...); err != nil {
			return nil, err
		}
	}
	if l.scx, err = buildScx(ctx); err != nil {
		return nil, err
	}
	if l.kernel, err = (kernel.Fetcher{Cache: filepath.Join(l.home, "cache", "vm", "kernel"), Log: logf}).Get(ctx); err != nil {
		return nil, fmt.Errorf("getting a kernel with sched_ext: %w", err)
	}
	if javaHome := os.Getenv("JAVA_HOME"); javaHome != "" {
		if l.jre, err = vm.JRE(ctx, l.home, javaHome, nil); err != nil {
			return nil, err
		}
		l.java = filepath.Join(javaHome, "bin", "java")
	}
	if l.policy, err = digest("bpf/sched_bpfel.o"); err != nil {
		return nil, err
	}
	if l.build, err = digest(l.self); err != nil {
		return nil, err
	}
	places, err := digest("schedule/places.go")
	if err != nil {
		return nil, err
	}
	l.replays = l.policy + places
	for _, race := range slices.Concat(racesC, periodicC) {
		if l.digests[race], err = digest(filepath.Join(l.races, race)); err != nil {
			return nil, err
		}
	}
	shared, err := digest(filepath.Join(l.races, "java", "Race.class"))
	if err != nil {
		return nil, err
	}
	for _, race := range slices.Concat(racesJava, periodicJava) {
		own, err := digest(filepath.Join(l.races, "java", race+".class"))
		if err != nil {
			return nil, err
		}
		l.digests[race] = own + shared
	}
	if err := errors.Join(l.findLibraries(), l.findJcstress()); err != nil {
		return nil, err
	}
	l.scratch, err = os.MkdirTemp("", "misstep-bench-sched-")
	if err != nil {
		return nil, fmt.Errorf("making a temporary folder: %w", err)
	}
	return l, nil
}

func (l *lab) close() { _ = os.RemoveAll(l.scratch) }

func logf(format string, args ...any) { fmt.Fprintf(os.Stderr, "sched: "+format+"\n", args...) }

func tool(ctx context.Context, env []string, command ...string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(command[0]), err, bytes.TrimSpace(out))
	}
	return nil
}

// buildScx returns the path of scx_chaos, built once and kept in the user's cache.
func buildScx(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache for scx_chaos: %w", err)
	}
	root := filepath.Join(cache, "misstep", "scx_chaos", scxVersion)
	path := filepath.Join(root, "bin", "scx_chaos")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	logf("building scx_chaos %s (once)", scxVersion)
	err = tool(ctx, []string{"CLANG=clang-19", "BPF_CLANG=clang-19", "CARGO_PROFILE_RELEASE_LTO=off"},
		"cargo", "install", "scx_chaos", "--version", scxVersion, "--locked", "--root", root)
	if err != nil {
		return "", fmt.Errorf("building scx_chaos, for comparison (requires cargo, clang-19 and libelf-dev): %w", err)
	}
	return path, nil
}

func digest(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("digesting a file that is measured: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}

// fingerprint returns a digest of everything that a cell's result depends on besides the cell.
func (l *lab) fingerprint(c cell) string {
	by := l.policy
	if flags, other := scxFlags[c.Strategy]; other {
		by = fmt.Sprint(scxVersion, flags)
	}
	sum := sha256.Sum256([]byte(by + " " + l.digests[c.Race] + " " + l.kernel.Release))
	return hex.EncodeToString(sum[:8])
}

// machine returns the configuration of a deterministic machine for cells.
func (l *lab) machine(cells []cell, seed uint64) (vm.Config, error) {
	path := filepath.Join(l.scratch, "cells.json")
	text, err := json.Marshal(cells)
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		return vm.Config{}, fmt.Errorf("writing the cells: %w", err)
	}
	c := vm.Config{
		Mode: vm.ModeDeterministic, Home: l.home, Memory: 1024, Seed: seed, Root: true, Limit: 24 * time.Hour,
		Env: []string{racesVariable + "=/races", cellsVariable + "=/cells.json", javaVariable + "=" + l.java},
		Trees: []vm.Tree{
			{Host: l.self, Guest: guestSelf},
			{Host: path, Guest: "/cells.json"},
			{Host: l.races, Guest: "/races"},
			{Host: l.scx, Guest: guestScx},
			{Host: l.kernel.Config(), Guest: "/boot/config-" + l.kernel.Release}, // scx_chaos reads it
		},
	}
	if slices.ContainsFunc(cells, cell.isJava) {
		c.Trees = append(c.Trees, l.jre)
	}
	if slices.ContainsFunc(cells, cell.isLibrary) {
		c.Trees = append(c.Trees, vm.Tree{Host: l.libraries, Guest: guestLibraries})
	}
	if slices.ContainsFunc(cells, cell.isJcstress) {
		c.Trees = append(c.Trees, vm.Tree{Host: l.jcstress, Guest: guestJcstress})
	}
	return c, nil
}

// boot runs this program in a machine and calls line with each line that it writes.
func boot(ctx context.Context, c vm.Config, mode, self string, line func([]byte) error) error {
	var stderr bytes.Buffer
	out := &lines{line: line}
	exit, err := vm.Run(ctx, c, []string{self, mode}, out, &stderr)
	if err = errors.Join(out.err, err); err != nil {
		return err
	}
	if exit != 0 {
		return fmt.Errorf("the guest's part ended with exit code %d: %s", exit, bytes.TrimSpace(stderr.Bytes()))
	}
	return nil
}

// lines calls a function for each whole line.
type lines struct {
	rest []byte
	line func([]byte) error
	err  error
}

func (l *lines) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, rest, found := bytes.Cut(l.rest, []byte("\n"))
		if !found {
			return len(b), nil
		}
		if err := l.line(line); err != nil && l.err == nil {
			l.err = err
			return 0, err
		}
		l.rest = rest
	}
}

var _ io.Writer = (*lines)(nil)

// cells measures those cells that are not in the store yet: the races in C first, then those in Java.
func (l *lab) cells(ctx context.Context, s *store, all []cell) error {
	for _, java := range []bool{false, true} {
		if java && l.java == "" {
			logf("skipping the races in Java: JAVA_HOME is not set")
			continue
		}
		var left []cell
		for _, c := range all {
			wanted := len(l.seeds) == 0 || slices.Contains(l.seeds, c.Seed)
			if _, known := s.result(l, c); wanted && !known && c.isJava() == java && l.measures(c.Race) {
				left = append(left, c)
			}
		}
		if len(left) == 0 {
			continue
		}
		logf("%d cells to measure", len(left))
		c, err := l.machine(left, uint64(len(s.Entries))+1) // another machine for each boot
		if err != nil {
			return err
		}
		err = boot(ctx, c, "cells", guestSelf, func(line []byte) error {
			var r result
			if err := json.Unmarshal(line, &r); err != nil {
				return fmt.Errorf("reading a result of the guest: %w: %.200q", err, line)
			}
			return s.Add(entry{Kind: kindCell, Fingerprint: l.fingerprint(r.cell), Result: &r})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
