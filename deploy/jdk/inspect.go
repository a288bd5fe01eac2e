package jdk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"misstep/internal/capped"
	"misstep/internal/sandbox"
)

const (
	startTime   = time.Minute // a JVM on a loaded machine starts within seconds
	maxOutput   = 512 << 10   // bytes of java's output that are examined
	maxRelease  = 1 << 20     // bytes that are read of the file release
	outputLines = 3           // last lines of a failing command in an error
)

// Inspect describes the JDK in the folder home (JAVA_HOME) by starting it, without a catalogue: Path, Version, Vendor, Feature,
// Release and HasCompiler are filled in.
func Inspect(ctx context.Context, home string) (Entry, error) {
	e := Entry{Path: home}
	if err := inspect(ctx, &e); err != nil {
		return Entry{}, fmt.Errorf("inspect JDK %s: %w", home, err)
	}
	return e, nil
}

// inspect starts the java of e.Path and fills in version, vendor, feature, release and compiler.
func inspect(ctx context.Context, e *Entry) error {
	java := filepath.Join(e.Path, "bin", "java")
	out, err := runJava(ctx, java, "-Xinternalversion")
	if err != nil {
		return err
	}
	e.Version, _, _ = strings.Cut(strings.TrimSpace(out), "\n")
	if e.Version == "" {
		return fmt.Errorf("%s -Xinternalversion printed nothing: not a HotSpot JVM?", java)
	}
	if e.Release, err = readRelease(filepath.Join(e.Path, "release")); err != nil {
		return err
	}
	version, vendor := e.Release["JAVA_VERSION"], e.Release["IMPLEMENTOR"]
	if version == "" || vendor == "" {
		// JDK 8's release file names no implementor.
		settings, err := runJava(ctx, java, "-XshowSettings:properties", "-version")
		if err != nil {
			return err
		}
		properties := parseSettings(settings)
		if version == "" {
			version = properties["java.version"]
		}
		if vendor == "" {
			vendor = properties["java.vendor"]
		}
	}
	e.Vendor = vendor
	if e.Feature, err = featureVersion(version); err != nil {
		return fmt.Errorf("%s: %w", e.Path, err)
	}
	_, err = os.Stat(filepath.Join(e.Path, "bin", "javac"))
	e.HasCompiler = err == nil
	return nil
}

// runJava returns stdout and stderr of java with the given arguments, without the caller's JAVA_TOOL_OPTIONS and the like.
func runJava(ctx context.Context, java string, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("still running after %s", startTime))
	defer cancel()
	cmd := exec.CommandContext(ctx, java, arguments...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	limited := capped.New(&out, maxOutput)
	cmd.Stdout, cmd.Stderr = limited, limited
	s, err := sandbox.Current()
	if err == nil {
		err = s.Box(sandbox.Needs{Read: sandbox.Java(java)}).Run(cmd)
	}
	if err == nil {
		return out.String(), nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	remedy := "try it by hand: a build for another architecture or a newer libc cannot run on this host (debian:openjdk-N has " +
		"its " + "own libc)"
	return "", fmt.Errorf("%s %s does not run: %w%s; %s", java, strings.Join(arguments, " "), err, tail(out.Bytes()), remedy)
}

// tail returns the last lines of a command's output for an error, after a colon; empty if there is no output.
func tail(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if lines[0] == "" && len(lines) == 1 {
		return ""
	}
	return ": " + strings.Join(lines[max(0, len(lines)-outputLines):], " | ")
}

// readRelease reads lines of KEY="value"; it returns nil if the file does not exist (Debian's JDK 8 has none).
func readRelease(name string) (map[string]string, error) {
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxRelease))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return parseRelease(string(text)), nil
}

func parseRelease(text string) map[string]string {
	release := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || key == "" || strings.HasPrefix(key, "#") {
			continue
		}
		if unquoted, ok := strings.CutPrefix(value, `"`); ok && strings.HasSuffix(unquoted, `"`) {
			value = strings.TrimSuffix(unquoted, `"`)
		}
		release[key] = value
	}
	return release
}

// parseSettings reads the lines "    java.vendor = X" of -XshowSettings:properties.
func parseSettings(text string) map[string]string {
	properties := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " = "); ok {
			properties[key] = value
		}
	}
	return properties
}

// FeatureOfRelease returns the feature version that the text of a file release names.
func FeatureOfRelease(text string) (int, error) {
	return featureVersion(parseRelease(text)["JAVA_VERSION"])
}

var leadingNumbers = regexp.MustCompile(`^(\d+)(?:\.(\d+))?`)

// featureVersion parses "17.0.15", "28-ea" or, before JEP 223 (JDK 9), "1.8.0_402".
func featureVersion(version string) (int, error) {
	match := leadingNumbers.FindStringSubmatch(version)
	if match == nil {
		return 0, fmt.Errorf("version %q: does not begin with a number", version)
	}
	digits := match[1]
	if digits == "1" && match[2] != "" {
		digits = match[2]
	}
	feature, err := strconv.Atoi(digits)
	if err != nil || feature < 8 {
		return 0, fmt.Errorf("version %q: JDK 8 and later are supported", version)
	}
	return feature, nil
}
