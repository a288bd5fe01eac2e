package jdk

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Installed is a JDK of this machine that nobody has imported yet.
type Installed struct {
	// Home is its folder (JAVA_HOME), without symbolic links.
	Home string
	// Feature version as its file release says; 0 where it has none, as Debian's JDK 8.
	Feature int
}

// installedIn are patterns of the folders in which distributions, SDKMAN!, IDEs, asdf and mise put JDKs. Relative ones are below
// the user's home folder.
var installedIn = []string{
	"/usr/lib/jvm/*", "/usr/lib64/jvm/*", "/usr/java/*", "/opt/java/*", "/opt/*jdk*", "/opt/*zulu*",
	".sdkman/candidates/java/*", ".jdks/*", ".asdf/installs/java/*", ".local/share/mise/installs/java/*",
}

// FindInstalled looks for JDKs: JAVA_HOME, java on the PATH, and the usual folders below root, which is / but for tests. It starts
// none of them. That of JAVA_HOME comes first, that of the PATH second, the others by feature version, newest first.
func FindInstalled(root string) []Installed {
	homes := []string{os.Getenv("JAVA_HOME"), onPath()}
	preferred := len(homes)
	user, _ := os.UserHomeDir()
	for _, pattern := range installedIn {
		if !filepath.IsAbs(pattern) {
			if user == "" {
				continue
			}
			pattern = filepath.Join(user, pattern)
		} else {
			pattern = filepath.Join(root, pattern)
		}
		found, _ := filepath.Glob(pattern) // its only error is a malformed pattern
		homes = append(homes, found...)
	}
	var first, others []Installed
	seen := map[string]bool{}
	for n, home := range homes {
		j, ok := installed(home)
		if !ok || seen[j.Home] {
			continue
		}
		seen[j.Home] = true
		if n < preferred {
			first = append(first, j)
		} else {
			others = append(others, j)
		}
	}
	slices.SortStableFunc(others, func(a, b Installed) int { return cmp.Compare(b.Feature, a.Feature) })
	return append(first, others...)
}

// installed reports whether a folder is that of a JDK or JRE of 8 or later.
func installed(home string) (Installed, bool) {
	if home == "" {
		return Installed{}, false
	}
	home, err := filepath.EvalSymlinks(home)
	if err != nil {
		return Installed{}, false
	}
	if java, err := os.Stat(filepath.Join(home, "bin", "java")); err != nil || java.IsDir() {
		return Installed{}, false
	}
	j := Installed{Home: home}
	release, err := readRelease(filepath.Join(home, "release"))
	if version := release["JAVA_VERSION"]; err == nil && version != "" {
		j.Feature, err = featureVersion(version)
	}
	return j, err == nil
}

// onPath is the folder of java on the PATH, empty for none. Up to 8, a JDK's java may be that of the JRE in it.
func onPath() string {
	java, err := exec.LookPath("java")
	if err == nil {
		java, err = filepath.EvalSymlinks(java)
	}
	if err != nil {
		return ""
	}
	home := filepath.Dir(filepath.Dir(java))
	if outer := filepath.Dir(home); filepath.Base(home) == "jre" {
		if _, err := os.Stat(filepath.Join(outer, "bin", "java")); err == nil {
			return outer
		}
	}
	return home
}
