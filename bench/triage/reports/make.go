// Package reports makes real error files and thread dumps of known cause: it plants crashes and hangs in JVMs that run here, varies
// what has nothing to do with the cause, and keeps what the JVM writes.
package reports

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"misstep/bench"
	"misstep/deploy/jdk"
	"misstep/triage/triagetest"
)

const (
	// runTime is the longest time of one JVM; those that crash take half a second.
	runTime = 25 * time.Second
	// dumpTime is the longest time of printing threads.
	dumpTime = 30 * time.Second
	// settleTime lets the thread that said so return to where it waits.
	settleTime = 100 * time.Millisecond
	workers    = 3
)

// Make makes the reports of the first rounds that are not done yet, until ctx ends, and passes each to add. Those in which the
// cause does not show are left out.
func Make(ctx context.Context, jdks []jdk.Entry, rounds int, done map[string]bool, add func(triagetest.Report) error) error {
	dir, err := os.MkdirTemp("", "misstep-bench-reports-")
	if err != nil {
		return fmt.Errorf("make a folder for the planted programs: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("switch off core files: %w", err)
	}
	y, err := openYard(ctx, dir, jdks)
	if err != nil {
		return err
	}
	todo := make(chan run)
	go func() {
		defer close(todo)
		for round := range rounds {
			for _, r := range plan(y.jdks, round) {
				if only := os.Getenv("ONLY"); done[r.name()] || !strings.Contains(r.name(), only) {
					continue
				}
				select {
				case todo <- r:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	var lock sync.Mutex
	var failed error
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for r := range todo {
				text, err := y.make(ctx, r)
				lock.Lock()
				switch {
				case ctx.Err() != nil:
				case err != nil:
					bench.Note("%s: %v", r.name(), err)
				default:
					for _, report := range withCuts(r, text) {
						failed = errors.Join(failed, add(report))
					}
				}
				lock.Unlock()
			}
		})
	}
	all.Wait()
	return failed
}

// make runs one JVM and returns its report.
func (y *yard) make(ctx context.Context, r run) (string, error) {
	hash := fnv.New64a()
	fmt.Fprint(hash, r.name())
	random := rand.New(rand.NewPCG(hash.Sum64(), uint64(time.Now().UnixNano())))
	dir, err := os.MkdirTemp(y.dir, "run-")
	if err != nil {
		return "", fmt.Errorf("make a folder for a run: %w", err)
	}
	defer os.RemoveAll(dir)
	y.lock.Lock()
	home, err := y.home(ctx, r.jdk, r.stripped)
	y.lock.Unlock()
	if err != nil {
		return "", err
	}
	library := "libvault.so"
	if r.unnamed {
		library = "unnamed.so"
	}
	causes := fnv.New32a()
	fmt.Fprint(causes, r.cause.name)
	loaded := filepath.Join(dir, fill(libraryNames[int(causes.Sum32())%len(libraryNames)], random))
	if err := os.Link(filepath.Join(y.dir, library), loaded); err != nil {
		return "", fmt.Errorf("link the library: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	args := append(y.flags(r, dir), "-cp", y.classes())
	var text string
	if r.kind == triagetest.KindCrash {
		name := fill(threadNames[random.IntN(len(threadNames))], random)
		text, err = crashed(ctx, dir, filepath.Join(home, "bin", "java"), append(args, "Crashes", r.cause.name, name, loaded))
	} else {
		args = append(args, "Hangs", r.cause.name, fmt.Sprint(random.Uint32()), loaded)
		text, err = hung(ctx, dir, home, r.tool, args)
	}
	if err != nil {
		return "", err
	}
	for path, public := range map[string]string{home: "/opt/jdk", dir: "/tmp", y.dir: "/opt/app"} {
		text = strings.ReplaceAll(text, path, public)
	}
	if missing := r.missing(text); missing != "" {
		return "", fmt.Errorf("the cause does not show: no %s", missing)
	}
	return text, nil
}

func (y *yard) flags(r run, dir string) []string {
	flags := []string{"-Xmx64m", "-XX:ErrorFile=" + filepath.Join(dir, "hs_err.log"), "-XX:+IgnoreUnrecognizedVMOptions"}
	if r.jdk.Feature >= 9 {
		flags = append(flags, "-XX:-CreateCoredumpOnCrash")
	}
	if r.jdk.Feature >= 23 {
		flags = append(flags, "--sun-misc-unsafe-memory-access=allow")
	}
	if r.jdk.Feature >= 22 {
		flags = append(flags, "--enable-native-access=ALL-UNNAMED")
	}
	if r.compiled {
		flags = append(flags, modes[r.mode].flags...)
	}
	if r.stripped {
		flags = append(flags, "-Xshare:auto")
	}
	return append(flags, r.flags...)
}
