package workloads

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"misstep/catalogue"
	"misstep/corpus"
	"misstep/internal/capped"
	"misstep/internal/sandbox"
)

const (
	renaissanceName     = "renaissance"
	renaissanceJar      = "renaissance.jar"
	maxRenaissanceBytes = 2 << 30         // the jar has about 0.5 GiB
	maxBenchmarks       = 1 << 10         // there are about 25
	maxListBytes        = 64 << 10        // of --raw-list
	listTime            = 2 * time.Minute // --raw-list takes a second
)

// renaissanceManifest is written beside the jar. Every benchmark passes with this heap and stack.
const renaissanceManifest = `name: renaissance
description: the Renaissance benchmark suite; the benchmark is the part of the workload's name after the slash
jar: renaissance.jar
harness: renaissance
repetitions: 2
jvm_flags: [-Xmx4g, -Xss8m]
`

// RenaissanceOptions names the source of the suite's jar: exactly one of Jar and URL.
type RenaissanceOptions struct {
	// Jar is the path of its jar.
	Jar string
	// URL of its jar, http or https; requires SHA256.
	URL string
	// SHA256 of the jar, 64 hexadecimal digits; checked if given.
	SHA256 string
	// Java is the launcher that lists the benchmarks; only those that this JVM can run are added.
	Java string
	// Client for the URL; nil means http.DefaultClient.
	Client *http.Client
}

// AddRenaissance copies the suite's jar into the catalogue, lists its benchmarks (--raw-list) and adds each as "renaissance/NAME",
// replacing those of an older jar.
func (c *Catalogue) AddRenaissance(ctx context.Context, o RenaissanceOptions) ([]Entry, error) {
	entries, err := c.addRenaissance(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("add Renaissance: %w", err)
	}
	return entries, nil
}

func (c *Catalogue) addRenaissance(ctx context.Context, o RenaissanceOptions) ([]Entry, error) {
	if (o.Jar == "") == (o.URL == "") {
		return nil, errors.New("give either the path of its jar or its URL")
	}
	if err := os.MkdirAll(c.dir(), 0o755); err != nil {
		return nil, err
	}
	stage, err := os.MkdirTemp(c.dir(), ".stage-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(stage)
	folder := filepath.Join(stage, renaissanceName)
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	jar := filepath.Join(folder, renaissanceJar)
	source, err := o.bring(ctx, jar)
	if err != nil {
		return nil, err
	}
	names, err := listBenchmarks(ctx, o.Java, jar, stage)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	if err := os.WriteFile(filepath.Join(folder, ManifestFile), []byte(renaissanceManifest), 0o644); err != nil {
		return nil, err
	}
	m, err := Load(folder)
	if err != nil {
		return nil, err
	}
	path, digest, err := c.copyTree(ctx, folder, renaissanceName)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		entry := entryOf(m, renaissancePrefix+name, path, digest, source)
		entry.Description = "Renaissance benchmark " + name
		if err := c.entries.Put(entry); err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, c.removeRenaissance(entries)
}

// removeRenaissance removes the benchmarks that are not in keep and the copied folders that are no longer used.
func (c *Catalogue) removeRenaissance(keep []Entry) error {
	all, err := c.List()
	if err != nil {
		return err
	}
	var removed []string
	for _, entry := range all {
		if !strings.HasPrefix(entry.Name, renaissancePrefix) ||
			slices.ContainsFunc(keep, func(e Entry) bool { return e.Name == entry.Name }) {
			continue
		}
		if err := c.entries.Remove(entry.Name); err != nil {
			return err
		}
		removed = append(removed, entry.Path)
	}
	if keep == nil && len(removed) == 0 {
		return fmt.Errorf("workload %q: %w; `misstep workload add renaissance --jar PATH` adds it", renaissanceName,
			catalogue.ErrUnknown)
	}
	copies, err := filepath.Glob(filepath.Join(escapeGlob(c.dir()), renaissanceName+"@*"))
	if err != nil {
		return err
	}
	for _, path := range append(removed, copies...) {
		abs, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		if err := c.sweep(abs); err != nil {
			return err
		}
	}
	return nil
}

// bring writes the verified jar to the file jar and returns its source.
func (o RenaissanceOptions) bring(ctx context.Context, jar string) (source string, err error) {
	var want corpus.Digest
	if o.SHA256 != "" {
		if want, err = corpus.ParseDigest("sha256:" + strings.ToLower(o.SHA256)); err != nil {
			return "", fmt.Errorf("sha256 %q: want 64 hexadecimal digits: %w", clip(o.SHA256, 80), err)
		}
	}
	var from io.ReadCloser
	if o.URL != "" {
		source = o.URL
		if want.IsZero() {
			return "", fmt.Errorf("%s: a URL needs the SHA-256 of its jar; give it with --sha256", source)
		}
		from, err = o.download(ctx)
	} else {
		if source, err = filepath.Abs(o.Jar); err != nil {
			return "", err
		}
		from, err = os.Open(source)
	}
	if err != nil {
		return "", err
	}
	defer from.Close()
	to, err := os.OpenFile(jar, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	_, _, err = corpus.Receive(ctx, to, from, want, maxRenaissanceBytes)
	if err = errors.Join(err, to.Close()); err != nil {
		return "", fmt.Errorf("%s: %w", source, err)
	}
	archive, err := zip.OpenReader(jar)
	if err != nil {
		return "", fmt.Errorf("%s is not a complete jar; fetch it again: %w", source, err)
	}
	return source, archive.Close()
}

func (o RenaissanceOptions) download(ctx context.Context) (io.ReadCloser, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.URL, nil)
	if err != nil {
		return nil, err
	}
	client := o.Client
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("download: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("download %s: the server answered %s", o.URL, response.Status)
	}
	return response.Body, nil
}

// listBenchmarks runs java -jar JAR --raw-list in a new folder in dir and returns the names that it prints, one per line.
func listBenchmarks(ctx context.Context, java, jar, dir string) ([]string, error) {
	if java == "" {
		return nil, errors.New("no java given to list its benchmarks; add a JDK first")
	}
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	var stdout, stderr bytes.Buffer
	listed := capped.New(&stdout, maxListBytes)
	command := exec.CommandContext(ctx, java, "-jar", jar, "--raw-list")
	s, err := sandbox.Current()
	if err != nil {
		return nil, err
	}
	work := filepath.Join(dir, "work")
	box := s.Box(sandbox.Needs{Read: append(sandbox.Java(java), jar), Write: []string{work}})
	if err := errors.Join(os.Chmod(dir, 0o711), os.Mkdir(work, 0o700), box.Own(work)); err != nil {
		return nil, err
	}
	command.Dir = work
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"} // without JAVA_TOOL_OPTIONS
	command.Stdout, command.Stderr = listed, capped.New(&stderr, maxListBytes)
	command.WaitDelay = time.Second
	if err := box.Run(command); err != nil {
		if cause := ctx.Err(); cause != nil {
			err = cause
		}
		return nil, fmt.Errorf("%s -jar … --raw-list: %w%s", java, err, oneLine(lastWords(stderr.Bytes()), maxMessage))
	}
	if listed.Dropped() {
		return nil, fmt.Errorf("its --raw-list is longer than %d bytes; is this the jar of Renaissance?", maxListBytes)
	}
	names := strings.Fields(stdout.String())
	if len(names) == 0 || len(names) > maxBenchmarks {
		return nil, fmt.Errorf("its --raw-list names %d benchmarks; is this the jar of Renaissance?", len(names))
	}
	for _, name := range names {
		if err := CheckName(name); err != nil {
			return nil, fmt.Errorf("its --raw-list names no benchmark; is this the jar of Renaissance? %w", err)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// readBounded reads a file of at most limit bytes.
func readBounded(file string, limit int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", file, limit)
	}
	return data, err
}
