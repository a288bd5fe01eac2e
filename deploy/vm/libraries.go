package vm

import (
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// libraries collects the shared libraries and loaders that a set of ELF files needs, as ld.so(8) would find them without
// LD_LIBRARY_PATH.
type libraries struct {
	seen  map[string]bool // ELF files already examined
	found map[string]bool // libraries and loaders, by path
	given []string        // folders of the trees, whose files are copied anyway
}

func newLibraries() *libraries {
	return &libraries{seen: map[string]bool{}, found: map[string]bool{}}
}

// libraryDirs are ld.so's default folders on Debian and elsewhere.
var libraryDirs = []string{
	"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib",
}

// addTree adds every ELF file below dir.
func (l *libraries) addTree(dir string, skip func(rel string) bool) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("tree %s: %w", dir, err)
		}
		if rel, err := filepath.Rel(dir, path); err == nil && rel != "." && skip(rel) {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if entry.Type().IsRegular() {
			l.given = append(l.given, filepath.Dir(path))
			l.add(path)
		}
		return nil
	})
}

// add adds one file; a file that is not a dynamic ELF file needs nothing.
func (l *libraries) add(path string) {
	if l.seen[path] {
		return
	}
	l.seen[path] = true
	file, err := elf.Open(path)
	if err != nil {
		return
	}
	defer file.Close()
	if file.Class != elf.ELFCLASS64 || file.Machine != elf.EM_X86_64 {
		return
	}
	for _, p := range file.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		interpreter := make([]byte, p.Filesz)
		if _, err := p.ReadAt(interpreter, 0); err == nil {
			l.take(strings.TrimRight(string(interpreter), "\x00"))
		}
	}
	names, err := file.ImportedLibraries()
	if err != nil {
		return
	}
	dirs := searchPath(file, filepath.Dir(path))
	for _, name := range names {
		for _, dir := range dirs {
			candidate := filepath.Join(dir, name)
			if _, err := os.Stat(candidate); err == nil {
				l.take(candidate)
				break
			}
		}
	}
}

func (l *libraries) take(path string) {
	if !l.found[path] {
		l.found[path] = true
		l.add(path)
	}
}

// closure returns the paths of all needed libraries and loaders outside the trees, sorted.
func (l *libraries) closure() []string {
	given := map[string]bool{}
	for _, dir := range l.given {
		given[dir] = true
	}
	var out []string
	for path := range l.found {
		if !given[filepath.Dir(path)] {
			out = append(out, path)
		}
	}
	sort.Strings(out)
	return out
}

func searchPath(file *elf.File, origin string) []string {
	var dirs []string
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		values, err := file.DynString(tag)
		if err != nil {
			continue
		}
		for _, value := range values {
			for _, dir := range filepath.SplitList(value) {
				dirs = append(dirs, strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin).Replace(dir))
			}
		}
	}
	return append(dirs, libraryDirs...)
}
