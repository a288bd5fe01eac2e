package jdk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// installJDK makes the folder of a JDK of that version; empty is one without a file release.
func installJDK(t *testing.T, home, version string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(home, "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(home, "bin", "java"), nil, 0o755))
	if version != "" {
		text := []byte("JAVA_VERSION=\"" + version + "\"\n")
		require.NoError(t, os.WriteFile(filepath.Join(home, "release"), text, 0o600))
	}
	return home
}

func TestFindInstalled(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	user := filepath.Join(root, "home", "anna")
	t.Setenv("HOME", user)
	t.Setenv("JAVA_HOME", "")
	t.Setenv("PATH", "")
	assert.Empty(t, FindInstalled(root))

	jvm := filepath.Join(root, "usr/lib/jvm")
	seventeen := Installed{installJDK(t, filepath.Join(jvm, "java-17-openjdk-amd64"), "17.0.15"), 17}
	eight := Installed{installJDK(t, filepath.Join(jvm, "java-8-openjdk-amd64"), ""), 0}
	twentyFive := Installed{installJDK(t, filepath.Join(user, ".sdkman/candidates/java/25-tem"), "25.0.1"), 25}
	installJDK(t, filepath.Join(jvm, "java-6"), "1.6.0_45")
	require.NoError(t, os.MkdirAll(filepath.Join(jvm, "openjdk-17"), 0o755)) // holds no java
	require.NoError(t, os.Symlink(seventeen.Home, filepath.Join(jvm, "default-java")))
	assert.Equal(t, []Installed{twentyFive, seventeen, eight}, FindInstalled(root), "one of each, newest first")

	path := installJDK(t, filepath.Join(root, "else where", "jdk"), "1.8.0_442")
	jre := installJDK(t, filepath.Join(path, "jre"), "")
	t.Setenv("PATH", filepath.Join(jre, "bin"))
	t.Setenv("JAVA_HOME", filepath.Join(jvm, "default-java"))
	assert.Equal(t, []Installed{seventeen, {path, 8}, twentyFive, eight}, FindInstalled(root), "what the user has chosen is first")
}
