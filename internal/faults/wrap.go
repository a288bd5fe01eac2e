package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"misstep/internal/sandbox"
)

// Wrap creates dir/bin/java, which starts the JDK in home under the plan: dir is a JAVA_HOME for an executor that passes no
// environment. The log is LogName in dir, or in the JVM's working folder if the plan has a share of trials, because these may run
// concurrently.
func Wrap(dir, home, library string, p Plan) error {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n")
	log := filepath.Join(dir, LogName)
	if p.Trials > 0 {
		log = LogName
	}
	for _, variable := range p.Environment(library, log) {
		b.WriteString("export '" + variable + "'\n")
	}
	fmt.Fprintf(&b, "exec '%s/bin/java' \"$@\"\n", home)
	if strings.Count(b.String(), "'")%2 != 0 {
		return fmt.Errorf("wrap the JDK %s: a path contains a quote: choose another folder", home)
	}
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		return fmt.Errorf("wrap the JDK %s: %w", home, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "java"), []byte(b.String()), 0o755); err != nil {
		return fmt.Errorf("wrap the JDK %s: %w", home, err)
	}
	return nil
}

// Unconfined is the sandbox for a wrapped JDK: the log lies where a confined JVM may not write.
func Unconfined() (*sandbox.Sandbox, error) {
	return sandbox.Policy{Mode: sandbox.None, AsRoot: os.Geteuid() == 0}.Open()
}

// LogName is the file name of the log; Wrap says in which folder.
const LogName = "faults.bin"
