package check

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"misstep/app/local"
	"misstep/deploy/jdk"
	misstepv1 "misstep/proto/misstep/v1"
)

// NotStartedError means that the program does not exist or cannot be executed.
type NotStartedError struct{ Err error }

// Error implements error.
func (e *NotStartedError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *NotStartedError) Unwrap() error { return e.Err }

// lookUp finds the program of a command on the PATH.
func lookUp(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", &NotStartedError{err}
	}
	return path, nil
}

// homeOf returns the JAVA_HOME that a launcher belongs to; empty if it is no java of a JDK.
func homeOf(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || filepath.Base(real) != "java" {
		return ""
	}
	if real, err = filepath.Abs(real); err != nil {
		return ""
	}
	home := filepath.Dir(filepath.Dir(real))
	if parent := filepath.Dir(home); filepath.Base(home) == "jre" && exists(filepath.Join(parent, "bin", "java")) {
		home = parent // the launcher of the runtime inside a JDK 8
	}
	for _, classes := range systemClasses {
		if exists(filepath.Join(home, classes)) {
			return home
		}
	}
	return ""
}

// systemClasses are the files that may have a JDK's own classes: of 9 and newer, of a JDK 8, of its runtime alone.
var systemClasses = []string{"lib/modules", "jre/lib/rt.jar", "lib/rt.jar"}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// describe finds out which build a JDK is: by the catalogue, else by starting it.
func describe(ctx context.Context, i local.Installation, home string) (feature int, _ *misstepv1.Jdk, _ error) {
	entries, err := i.JDKs().List()
	if err == nil { // without a catalogue, the JDK says it
		of := func(e jdk.Entry) bool { real, err := filepath.EvalSymlinks(e.Path); return err == nil && real == home }
		if n := slices.IndexFunc(entries, of); n >= 0 {
			e := entries[n]
			return e.Feature, &misstepv1.Jdk{Name: e.Name, Digest: e.Digest.String(), Version: e.Version}, nil
		}
	}
	e, err := jdk.Inspect(ctx, home)
	if err != nil {
		return 0, nil, err
	}
	return e.Feature, &misstepv1.Jdk{Name: filepath.Base(home), Digest: stamp(e), Version: e.Version}, nil
}

// stamp tells builds in one folder apart, for the cache of the agent's patches: digesting a whole JDK takes too long.
func stamp(e jdk.Entry) string {
	h := sha256.New()
	fmt.Fprintln(h, e.Path, e.Version)
	for _, classes := range systemClasses {
		if info, err := os.Stat(filepath.Join(e.Path, classes)); err == nil {
			fmt.Fprintln(h, info.Size(), info.ModTime().UnixNano())
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// valued are the launcher's options whose value is the next argument (java(1)).
var valued = []string{
	"-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules", "--limit-modules",
	"--add-exports", "--add-opens", "--add-reads", "--patch-module", "--enable-native-access", "--source", "-d",
	"--describe-module",
}

// flagsOf returns the JVM's options among the arguments of java.
func flagsOf(args []string) []string {
	flags, _ := splitFlags(args)
	return flags
}

// splitFlags returns the JVM's options among the arguments of java, which end before -jar, -m or the name of the main class, and
// the arguments from there on. An option and its value are one element, joined by "=".
func splitFlags(args []string) (flags, rest []string) {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-jar" || a == "-m" || a == "--module":
			return flags, args[i:]
		case slices.Contains(valued, a) && i+1 < len(args):
			i++
			flags = append(flags, a+"="+args[i])
		case strings.HasPrefix(a, "-"):
			flags = append(flags, a)
		case strings.HasPrefix(a, "@"): // a file of arguments: what is in it the launcher reads
		default:
			return flags, args[i:]
		}
	}
	return flags, nil
}
