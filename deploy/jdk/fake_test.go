package jdk

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A fake JDK with the parts that the catalogue examines: a java that prints its version, and a release file.
const (
	fakeVersion = "OpenJDK 64-Bit Server VM (21.0.1+1) for linux-amd64 JRE (21.0.1+1), built on a test bench"
	fakeJava    = "#!/bin/sh\n" +
		"[ \"$1\" = -Xinternalversion ] && [ -z \"$JAVA_TOOL_OPTIONS\" ] && echo '" + fakeVersion + "'\n" +
		"[ \"$1\" = -XshowSettings:properties ] && printf '    java.vendor = Bench\\n    java.version = 1.8.0_402\\n' >&2\n" +
		"[ \"$3\" = -XX:+PrintFlagsFinal ] && printf '     bool UseZGC = false {product} {default}\\n" +
		"     intx GuaranteedSafepointInterval := 0 {diagnostic} {command line}\\n'\n" +
		"exit 0\n"
	fakeRelease = "IMPLEMENTOR=\"Test Bench\"\nJAVA_VERSION=\"21.0.1\"\nMODULES=\"java.base jdk.jcmd\"\n"
)

// fakeFiles holds the files of the fake JAVA_HOME by path.
var fakeFiles = map[string]string{
	"bin/java": fakeJava, "bin/javac": "#!/bin/sh\n", "release": fakeRelease,
	"lib/modules": "modules",
}

func fakeJDK(t *testing.T) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "jdk")
	for name, text := range fakeFiles {
		write(t, filepath.Join(home, name), text, fakeMode(name))
	}
	return home
}

func fakeMode(name string) fs.FileMode {
	if filepath.Dir(name) == "bin" {
		return 0o755
	}
	return 0o644
}

func write(t *testing.T, name, text string, mode fs.FileMode) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), mode))
}
