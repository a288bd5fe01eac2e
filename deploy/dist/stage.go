package main

import (
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// newestGlibc is what Ubuntu 22.04 has, the oldest C library that a release supports; Debian bookworm has 2.36.
const newestGlibc = 35

// parts are the files of the build that a release has, by their place in its folder.
var parts = []struct{ from, to string }{
	{"agent/libmisstep.so", "agent/libmisstep.so"},
	{"agent/misstep-agent.jar", "agent/misstep-agent.jar"},
	{"profilers/libasyncProfiler.so", "profilers/libasyncProfiler.so"},
	{"recording/misstep-recording.jar", "recording/misstep-recording.jar"},
}

// stage fills the folder anew with the program, its parts and the workloads.
func (r release) stage() error {
	if err := os.RemoveAll(r.folder()); err != nil {
		return err
	}
	if err := copyFile(r.Binary, filepath.Join(r.folder(), "misstep")); err != nil {
		return err
	}
	for _, p := range parts {
		if err := copyFile(filepath.Join(r.Build, p.from), filepath.Join(r.folder(), p.to)); err != nil {
			return fmt.Errorf("%w; build it with `make build`", err)
		}
	}
	for _, name := range []string{"CHANGELOG.md", "VERSION", licence} {
		err := copyFile(filepath.Join(r.Root, name), filepath.Join(r.folder(), name))
		if err != nil && (name != licence || !errors.Is(err, os.ErrNotExist)) {
			return err
		}
	}
	if err := checkLibraries(r.folder()); err != nil {
		return err
	}
	return r.stageWorkloads()
}

// checkLibraries refuses libraries that need a newer C library than a release supports.
func checkLibraries(dir string) error {
	libraries, err := filepath.Glob(filepath.Join(dir, "*", "*.so"))
	if err != nil || len(libraries) == 0 {
		return errors.Join(err, errors.New("no library in the folder"))
	}
	for _, library := range libraries {
		minor, symbol, err := needsGlibc(library)
		if err != nil {
			return err
		}
		if minor > newestGlibc {
			return fmt.Errorf("%s needs glibc 2.%d, by %s; a release supports 2.%d", library, minor, symbol, newestGlibc)
		}
	}
	return nil
}

// needsGlibc returns N of the newest GLIBC_2.N that a library imports, and a symbol that does.
func needsGlibc(file string) (minor int, symbol string, err error) {
	f, err := elf.Open(file)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	symbols, err := f.ImportedSymbols()
	if err != nil {
		return 0, "", fmt.Errorf("%s: %w", file, err)
	}
	for _, s := range symbols {
		version, found := strings.CutPrefix(s.Version, "GLIBC_2.")
		if !found {
			continue
		}
		number, _, _ := strings.Cut(version, ".")
		n, err := strconv.Atoi(number)
		if err != nil {
			return 0, "", fmt.Errorf("%s: version %q: %w", file, s.Version, err)
		}
		if n > minor {
			minor, symbol = n, s.Name
		}
	}
	return minor, symbol, nil
}

// stageWorkloads lets misstep catalogue the workloads, and takes the entries with paths inside of the folder.
func (r release) stageWorkloads() error {
	home, err := os.MkdirTemp(r.Out, "home")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	add := exec.Command(r.Binary, "workload", "add", filepath.Join(r.Build, "workloads"), "--home", home)
	if out, err := add.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	entries, err := filepath.Glob(filepath.Join(home, "workloads", "*.json"))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := r.stageWorkload(entry); err != nil {
			return fmt.Errorf("%s: %w", entry, err)
		}
	}
	return nil
}

func (r release) stageWorkload(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	entry := map[string]any{}
	if err := json.Unmarshal(text, &entry); err != nil {
		return err
	}
	name, _ := entry["name"].(string)
	path, _ := entry["path"].(string)
	if name == "" || path == "" {
		return errors.New("no entry of a workload")
	}
	to := filepath.Join(r.folder(), "workloads", name)
	if err := copyTree(path, to); err != nil {
		return err
	}
	entry["path"], entry["source"] = name, "misstep "+r.Version
	text, err = json.MarshalIndent(entry, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(to+".json", append(text, '\n'), 0o644)
}

func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		return copyFile(path, filepath.Join(to, below))
	})
}

// copyFile copies a regular file, and whether it is executable.
func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, mode(info.Mode()))
}

// mode is what a file has in a release, whatever this machine's umask.
func mode(m fs.FileMode) fs.FileMode {
	if m&0o100 != 0 {
		return 0o755
	}
	return 0o644
}
