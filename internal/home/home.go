// Package home finds the folder of Misstep's own files: JDK builds, workloads, caches.
package home

import (
	"os"
	"path/filepath"
)

// Dir returns the first that is set of $MISSTEP_HOME, $XDG_DATA_HOME/misstep and ~/.local/share/misstep. It does not create the
// folder. A relative XDG_DATA_HOME is ignored, as the XDG base directory specification 0.8 requires. If the user has no home folder
// (a bare container), it returns misstep in the folder for temporary files.
func Dir() string {
	if dir := os.Getenv("MISSTEP_HOME"); dir != "" {
		if abs, err := filepath.Abs(dir); err == nil {
			return abs
		}
		return dir
	}
	if data := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(data) {
		return filepath.Join(data, "misstep")
	}
	user, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(user) {
		return filepath.Join(os.TempDir(), "misstep")
	}
	return filepath.Join(user, ".local", "share", "misstep")
}
