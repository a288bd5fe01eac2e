package jdk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"

	"misstep/deploy/jdk/preset"
)

// Flags returns the JVM flags of the build name with their kinds (preset.Product, Diagnostic or Experimental). Add has stored them;
// if the record is from a version that did not, the JVM is queried now.
func (c *Catalogue) Flags(ctx context.Context, name string) (map[string]string, error) {
	r, err := c.entries.Get(name)
	if err != nil {
		return nil, err
	}
	if len(r.Flags) == 0 {
		if r.Flags, err = queryFlags(ctx, r.Path); err == nil {
			if err = c.entries.Put(r); errors.Is(err, fs.ErrPermission) { // not writable: query each time
				err = nil
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("flags of JDK %q: %w", name, err)
	}
	return r.Flags, nil
}

// queryFlags starts the java of the JAVA_HOME home and reads the flags that it has.
func queryFlags(ctx context.Context, home string) (map[string]string, error) {
	java := filepath.Join(home, "bin", "java")
	out, err := runJava(ctx, java, "-XX:+UnlockDiagnosticVMOptions", "-XX:+UnlockExperimentalVMOptions", "-XX:+PrintFlagsFinal",
		"-version")
	if err != nil {
		return nil, err
	}
	flags := parseFlags(out)
	if len(flags) == 0 {
		return nil, fmt.Errorf("%s -XX:+PrintFlagsFinal printed no flags: not a HotSpot JVM?", java)
	}
	return flags, nil
}

// flagLine matches a line of -XX:+PrintFlagsFinal (jvmFlag.cpp, until 14 globals.cpp): type, name, value, kinds, and since 9 the
// origin.
//
//	bool UseZGC = false {product} {default}
//	intx MaxInlineLevel := 0 {C2 product} {command line}
var flagLine = regexp.MustCompile(`^\s*\w+\s+(\w+)\s*:?=.*?\{([^}]*)\}`)

func parseFlags(text string) map[string]string {
	flags := map[string]string{}
	for line := range strings.Lines(text) {
		match := flagLine.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		kind := preset.Product // also manageable, pd product, lp64_product, …
		for _, locked := range []string{preset.Diagnostic, preset.Experimental} {
			if strings.Contains(match[2], locked) {
				kind = locked
			}
		}
		flags[match[1]] = kind
	}
	return flags
}
