package kernel

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Package is a Debian package as apt-cache shows it.
type Package struct {
	Name    string
	Version string
	SHA256  string // of the .deb file, hexadecimal
	Size    int64  // of the .deb file, bytes
}

// parsePackages reads the output of `apt-cache show`.
func parsePackages(out []byte) ([]Package, error) {
	var packages []Package
	for stanza := range bytes.SplitSeq(out, []byte("\n\n")) {
		var p Package
		for line := range bytes.Lines(stanza) {
			name, value, ok := strings.Cut(strings.TrimRight(string(line), "\n"), ": ")
			if !ok {
				continue
			}
			switch name {
			case "Package":
				p.Name = value
			case "Version":
				p.Version = value
			case "SHA256":
				p.SHA256 = value
			case "Size":
				size, err := strconv.ParseInt(value, 10, 64)
				if err != nil {
					return nil, fmt.Errorf("apt-cache show: size of %s: %w", p.Name, err)
				}
				p.Size = size
			}
		}
		if p.Name == "" {
			continue
		}
		if p.Version == "" {
			return nil, fmt.Errorf("apt-cache show: package %s has no version", p.Name)
		}
		packages = append(packages, p)
	}
	return packages, nil
}

// Kernel packages of Debian: since 7.x a kernel is split in linux-binary (vmlinuz), linux-modules and linux-base (its
// configuration); before that linux-image held all of it.
var (
	kernelPattern = `^linux-(binary|image|modules|base)-[0-9].*-cloud-amd64$`
	kernelName    = regexp.MustCompile(`^linux-(binary|image|modules|base)-([0-9].*-cloud-amd64)$`)
)

// choose returns the release (uname -r) of the newest cloud kernel among packages, and the packages that make it up.
func choose(packages []Package) (release string, chosen []Package, err error) {
	byRelease := map[string]map[string]Package{}
	for _, p := range packages {
		m := kernelName.FindStringSubmatch(p.Name)
		if m == nil {
			continue
		}
		if byRelease[m[2]] == nil {
			byRelease[m[2]] = map[string]Package{}
		}
		byRelease[m[2]][m[1]] = p
	}
	var version string
	for candidate, parts := range byRelease {
		image, ok := parts["binary"]
		if !ok {
			image, ok = parts["image"]
		}
		// By the package's version: a candidate's release may be 7.3-cloud-amd64, which would sort behind 7.3+deb14-cloud-amd64.
		newer := cmp.Or(compareVersions(image.Version, version), compareVersions(candidate, release)) > 0
		if ok && (release == "" || newer) {
			release, version = candidate, image.Version
		}
	}
	if release == "" {
		return "", nil, errors.New("no cloud kernel for amd64: its naming may have changed; see apt-cache search " +
			"linux-image-cloud-amd64")
	}
	parts := byRelease[release]
	if _, split := parts["binary"]; !split {
		return release, []Package{parts["image"]}, nil
	}
	for _, kind := range []string{"binary", "modules", "base"} {
		if p, ok := parts[kind]; ok {
			chosen = append(chosen, p)
		}
	}
	return release, chosen, nil
}

// compareVersions orders Debian versions by the algorithm of deb-version(7) without epochs, which kernels do not use: negative
// when a is older than b.
func compareVersions(a, b string) int {
	upstreamA, revisionA := splitRevision(a)
	upstreamB, revisionB := splitRevision(b)
	if c := comparePart(upstreamA, upstreamB); c != 0 {
		return c
	}
	return comparePart(revisionA, revisionB)
}

func splitRevision(version string) (upstream, revision string) {
	if i := strings.LastIndexByte(version, '-'); i >= 0 {
		return version[:i], version[i+1:]
	}
	return version, ""
}

// comparePart orders upstream versions, or revisions: non-digit parts and numbers alternately.
func comparePart(a, b string) int {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	for a != "" || b != "" {
		var x, y string
		x, a = splitWhile(a, func(c byte) bool { return !digit(c) })
		y, b = splitWhile(b, func(c byte) bool { return !digit(c) })
		if c := compareText(x, y); c != 0 {
			return c
		}
		x, a = splitWhile(a, digit)
		y, b = splitWhile(b, digit)
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		if len(x) != len(y) {
			return len(x) - len(y)
		}
		if c := strings.Compare(x, y); c != 0 {
			return c
		}
	}
	return 0
}

// compareText orders the non-digit parts: ~ before the end, the end before letters, letters before everything else.
func compareText(a, b string) int {
	weight := func(s string, i int) int {
		switch {
		case i >= len(s):
			return 0
		case s[i] == '~':
			return -1
		case s[i] >= 'a' && s[i] <= 'z', s[i] >= 'A' && s[i] <= 'Z':
			return int(s[i])
		default:
			return int(s[i]) + 256
		}
	}
	for i := range max(len(a), len(b)) {
		if d := weight(a, i) - weight(b, i); d != 0 {
			return d
		}
	}
	return 0
}

func splitWhile(s string, in func(byte) bool) (head, tail string) {
	i := 0
	for i < len(s) && in(s[i]) {
		i++
	}
	return s[:i], s[i:]
}
