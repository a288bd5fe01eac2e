package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// system lists the folders of programs and libraries. Links stay links. Most programs see /etc, too, which names and locates what
// JDKs link to, and /sys.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/gnu"}

// configuration is what a program needs of /etc that may read what its user may not: nothing in it is secret.
var configuration = []string{
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/java*", "/etc/localtime", "/etc/passwd",
	"/etc/group", "/etc/nsswitch.conf", "/etc/hosts",
}

// sees returns the folders of the system that the program sees, and the other files and folders, with links resolved.
func (b *Box) sees() (folders, reads []string, err error) {
	folders = append([]string{"/sys", "/etc"}, system...)
	reads = b.needs.Read
	if b.needs.Override {
		folders = system
		for _, pattern := range configuration {
			found, err := filepath.Glob(pattern)
			if err != nil {
				return nil, nil, err
			}
			reads = append(slices.Clip(reads), found...)
		}
	}
	reads, err = resolved(reads)
	below := func(path string) bool {
		return slices.ContainsFunc(folders, func(f string) bool { return path == f || strings.HasPrefix(path, f+"/") })
	}
	return folders, slices.DeleteFunc(reads, below), err
}

// resolved returns the paths of a list that exist, with links resolved, and those links that are not below one of the system's
// folders.
func resolved(paths []string) (real []string, err error) {
	for _, path := range paths {
		target, err := filepath.EvalSymlinks(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		real = append(real, target)
		if clean := filepath.Clean(path); clean != target {
			real = append(real, clean)
		}
	}
	return real, nil
}
