package check

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"misstep/agent"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/jvm"
)

// environmentOptions returns the options that JVMs take from the variables of an environment.
func environmentOptions(env []string) (flags []string) {
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		if name == toolOptions || name == "JDK_JAVA_OPTIONS" || name == "_JAVA_OPTIONS" {
			flags = append(flags, strings.Fields(value)...)
		}
	}
	return flags
}

// securityManager is the property that makes the JVM start with one (java.lang.SecurityManager).
const securityManager = "-Djava.security.manager"

// conflict returns an error about a JVM that cannot run with the agent: for its runtime, or for options of the recipe or of the
// environment beside which the agent's cannot stand.
func conflict(r *misstepv1.Recipe, home string, environment []string) error {
	flags := slices.Concat(environment, r.GetJvmFlags())
	for _, flag := range flags {
		if strings.HasPrefix(flag, "-agentpath:") && strings.Contains(flag, agent.LibraryName) {
			return errors.New("the command or its environment loads Misstep's agent itself: remove its -agentpath, or run it " +
				"without misstep check")
		}
	}
	if r.GetInstrumentation() == nil {
		return nil
	}
	if home != "" && !instruments(home) {
		return fmt.Errorf("the runtime %s has no module java.instrument, without which nothing is instrumented: check it with "+
			"--light, or add the module (jlink --add-modules)", home)
	}
	for _, flag := range flags {
		if strings.HasPrefix(flag, "--patch-module=java.base=") {
			return fmt.Errorf("the program's %s leaves no room for the patch of instrumentation: check it with --light", flag)
		}
		if (flag == securityManager || strings.HasPrefix(flag, securityManager+"=")) &&
			!strings.HasSuffix(flag, "=allow") && !strings.HasSuffix(flag, "=disallow") {
			return fmt.Errorf("the program's %s lets the instrumentation's Java code write no files: check it with --light", flag)
		}
	}
	return nil
}

// instruments reports whether a runtime can load Java agents, which jlink may have left out.
func instruments(home string) bool {
	for _, place := range []string{"lib", "jre/lib/*", "lib/*"} { // of 9 and newer, of a JDK 8, of its runtime alone
		if found, _ := fs.Glob(os.DirFS(home), place+"/libinstrument.so"); len(found) > 0 {
			return true
		}
	}
	return false
}

// unwritten returns an error where the agent of a JVM had no room for its files below dir: then the JVM did not start.
func unwritten(dir string) error {
	for _, of := range []string{"", "*/"} { // one JVM, several
		files, err := fs.Glob(os.DirFS(dir), of+jvm.AgentDir+"/"+jvm.StatusFile)
		if err != nil {
			return fmt.Errorf("find the agent's files in %s: %w", dir, err)
		}
		for _, file := range files {
			if info, err := os.Stat(filepath.Join(dir, file)); err == nil && info.Size() == 0 {
				return fmt.Errorf("the agent could not write its files below %s, so that the JVM did not start: make room there, "+
					"or name another folder with --out", dir)
			}
		}
	}
	return nil
}
