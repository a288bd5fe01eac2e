// Package testenv finds what a test needs on this machine (JDKs, the built agent, the catalogue), or skips the test with the
// reason.
package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Root returns the root folder of the checkout.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}

// Agent returns the folder of the built agent artefacts.
func Agent(t testing.TB) string {
	t.Helper()
	skipShort(t)
	dir := filepath.Join(Root(), "build", "agent")
	for _, name := range []string{"libmisstep.so", "misstep-agent.jar"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Skipf("the agent is not built (%v); run make agent", err)
		}
	}
	return dir
}

// skipShort leaves a test out of make test-fast, which runs it only if its package has changed.
func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no JVM is started")
	}
}

// Home returns the folder of the catalogue that `make test` fills: jdk17, jdk25, the other JDKs that could be obtained, and the
// built workloads. Tests must not write to it.
func Home(t testing.TB) string {
	t.Helper()
	skipShort(t)
	dir := os.Getenv("MISSTEP_HOME")
	if dir == "" {
		dir = filepath.Join(Root(), "build", "home")
	}
	for _, name := range []string{"jdks/jdk17.json", "jdks/jdk25.json", "workloads/clinit.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Skipf("the catalogue is not filled (%v); run make catalogue", err)
		}
	}
	return dir
}

// Javac returns a Java compiler.
func Javac(t testing.TB) string {
	t.Helper()
	if home := os.Getenv("JAVA_HOME"); home != "" {
		if javac := filepath.Join(home, "bin", "javac"); exec.Command(javac, "-version").Run() == nil {
			return javac
		}
	}
	javac, err := exec.LookPath("javac")
	if err != nil {
		t.Skipf("no Java compiler: %v; install a JDK", err)
	}
	return javac
}
