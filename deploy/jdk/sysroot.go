package jdk

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"misstep/corpus"
)

// sysroot is the folder in a JAVA_HOME that holds the loader and the libraries that the build runs with, if these are not the
// host's.
const sysroot = "sysroot"

// alwaysGathered are libraries that are opened by name at run time, or by an agent that was built on an older system.
var alwaysGathered = []string{
	"libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libpthread.so.0", "libresolv.so.2",
	"librt.so.1", "libstdc++.so.6", "libz.so.1",
}

// gatherSysroot copies the loader and all shared libraries that the programs and libraries in home need, and that home itself
// lacks, from the packages unpacked in libs (one folder each) to home/sysroot: those that ldd would find. It returns the packages
// that provided any, and the unresolved libraries in the form "FILE needs LIBRARY".
func gatherSysroot(libs, home string) (providers, unresolved []string, err error) {
	libraries, err := sharedLibraries(libs)
	if err != nil {
		return nil, nil, err
	}
	target := filepath.Join(home, sysroot)
	if err := os.RemoveAll(target); err != nil {
		return nil, nil, err
	}
	var todo []need
	own := map[string]bool{}
	err = eachELF(home, func(name string, file *elf.File) error {
		own[path.Base(name)] = true
		needs, err := needsOf(name, file)
		todo = append(todo, needs...)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if err := os.Mkdir(target, 0o755); err != nil {
		return nil, nil, err
	}
	for _, library := range alwaysGathered {
		todo = append(todo, need{"the JVM", library})
	}
	gathered := map[string]bool{}
	for len(todo) > 0 {
		next := todo[0]
		todo = todo[1:]
		if own[next.library] || gathered[next.library] {
			continue
		}
		from, found := libraries[next.library]
		if !found {
			unresolved = append(unresolved, next.by+" needs "+next.library)
			continue
		}
		gathered[next.library] = true
		needs, err := gather(from, filepath.Join(target, next.library), path.Join(sysroot, next.library))
		if err != nil {
			return nil, nil, err
		}
		todo = append(todo, needs...)
		relative, err := filepath.Rel(libs, from)
		if err != nil {
			return nil, nil, err
		}
		providers = append(providers, strings.SplitN(filepath.ToSlash(relative), "/", 2)[0])
	}
	slices.Sort(providers)
	slices.Sort(unresolved)
	return slices.Compact(providers), slices.Compact(unresolved), nil
}

type need struct{ by, library string }

// needsOf lists the libraries and the loader that a file refers to.
func needsOf(name string, file *elf.File) ([]need, error) {
	imported, err := file.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if loader := interpreter(file); loader != "" {
		imported = append(imported, path.Base(loader))
	}
	needs := make([]need, len(imported))
	for i, library := range imported {
		needs[i] = need{name, library}
	}
	return needs, nil
}

func gather(from, to, name string) ([]need, error) {
	if err := copyFile(from, to, 0o755); err != nil {
		return nil, err
	}
	file, err := elf.Open(to)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer file.Close()
	return needsOf(name, file)
}

// sharedLibraries maps names to files for all shared libraries in dir except gconv's conversion modules.
func sharedLibraries(dir string) (map[string]string, error) {
	libraries := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "gconv":
			return fs.SkipDir
		case entry.IsDir() || !strings.Contains(entry.Name(), ".so"):
			return nil
		}
		// A link like libz.so.1 must lead to a file inside: an absolute one would refer to the host's.
		real, err := filepath.EvalSymlinks(name)
		if err != nil || !strings.HasPrefix(real, dir+"/") {
			return nil
		}
		if _, known := libraries[entry.Name()]; !known {
			libraries[entry.Name()] = name
		}
		return nil
	})
	return libraries, err
}

// eachELF calls visit for each ELF program and shared library in dir with its path relative to dir.
func eachELF(dir string, visit func(name string, file *elf.File) error) error {
	return filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		relative, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		file, err := elf.Open(name)
		if _, other := errors.AsType[*elf.FormatError](err); other || errors.Is(err, io.EOF) {
			return nil // not ELF; empty
		}
		if err != nil {
			return err
		}
		defer file.Close()
		if file.Type != elf.ET_EXEC && file.Type != elf.ET_DYN { // an object file
			return nil
		}
		return visit(relative, file)
	})
}

// interpreter returns the loader that a program names; empty for libraries.
func interpreter(file *elf.File) string {
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			loader, err := io.ReadAll(io.LimitReader(segment.Open(), 4096))
			if err != nil {
				return ""
			}
			return strings.TrimRight(string(loader), "\x00")
		}
	}
	return ""
}

// Runnable returns a JAVA_HOME with the files of the tree in dir that runs on this host: dir itself, unless the tree has its own
// libc (a folder sysroot). A program names its loader by an absolute path, which depends on its location, so a folder DIR.run is
// created beside dir: the same files as hard links, the programs adapted by patchelf. It is created once, and again when dir has
// moved. Whoever fetches a JDK's tree by digest calls this before running it.
func Runnable(ctx context.Context, dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, sysroot)); errors.Is(err, fs.ErrNotExist) {
		return dir, nil
	}
	run := dir + ".run"
	if runsFrom(run) {
		return run, nil
	}
	if err := makeRunnable(ctx, dir, run); err != nil {
		return "", fmt.Errorf("make the JDK in %s run with its own libc: %w", dir, err)
	}
	return run, nil
}

func runsFrom(run string) bool {
	file, err := elf.Open(filepath.Join(run, "bin", "java"))
	if err != nil {
		return false
	}
	defer file.Close()
	return filepath.Dir(interpreter(file)) == filepath.Join(run, sysroot)
}

func makeRunnable(ctx context.Context, dir, run string) error {
	patchelf, err := exec.LookPath("patchelf")
	if err != nil {
		return fmt.Errorf("%w; on Debian run `apt-get install patchelf`", err)
	}
	temporary, err := os.MkdirTemp(filepath.Dir(dir), ".run-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	if err := linkTree(dir, temporary); err != nil {
		return err
	}
	var programs [][]string // arguments of patchelf
	err = eachELF(temporary, func(name string, file *elf.File) error {
		loader := interpreter(file)
		if loader == "" || strings.HasPrefix(name, sysroot+"/") {
			return nil
		}
		searched, err := searchPath(name, file)
		programs = append(programs, []string{
			"--set-interpreter", filepath.Join(run, sysroot, path.Base(loader)),
			// RPATH, not RUNPATH: it also applies to the libraries' own dependencies.
			"--force-rpath", "--set-rpath", searched, filepath.Join(temporary, name),
		})
		return err
	})
	if err != nil {
		return err
	}
	for _, arguments := range programs {
		if err := patch(ctx, patchelf, arguments); err != nil {
			return err
		}
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return err
	}
	if err := os.RemoveAll(run); err != nil { // created for another location
		return err
	}
	return os.Rename(temporary, run)
}

// searchPath returns a program's library search path: that of the build (JDK 8 and 11 have lib/amd64 and lib/jli), then the
// sysroot.
func searchPath(name string, file *elf.File) (string, error) {
	up, err := filepath.Rel(path.Dir(name), sysroot)
	if err != nil {
		return "", err
	}
	var searched []string
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		own, err := file.DynString(tag)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		searched = append(searched, own...)
	}
	return strings.Join(append(searched, "$ORIGIN/"+up), ":"), nil
}

func patch(ctx context.Context, patchelf string, arguments []string) error {
	program := arguments[len(arguments)-1]
	// Patch a copy: the file is a hard link, and the tree's file must not change.
	original := program + ".original"
	if err := os.Rename(program, original); err != nil {
		return err
	}
	if err := copyFile(original, program, 0o755); err != nil {
		return err
	}
	if err := os.Remove(original); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, patchelf, arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("patchelf %s: %w%s", program, err, tail(out))
	}
	return nil
}

// linkTree creates the folders and links of from in the folder to, and hard links to its files.
func linkTree(from, to string) error {
	return filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == from {
			return err
		}
		relative, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		switch {
		case entry.IsDir():
			return os.Mkdir(target, 0o755)
		case entry.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		default:
			return os.Link(name, target)
		}
	})
}

func copyFile(from, to string, mode fs.FileMode) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, _, err = corpus.Receive(context.Background(), target, source, corpus.Digest{}, 0)
	return errors.Join(err, target.Close())
}
