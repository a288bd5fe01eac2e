package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var (
	// numbers is what VERSION may say; a development version is no release.
	numbers = regexp.MustCompile(`^\d+\.\d+\.\d+(-dev)?$`)
	// section begins the changes of a release in CHANGELOG.md, or those since the last one.
	section = regexp.MustCompile(`(?m)^## (?:Unreleased|(\S+) \(\d{4}-\d{2}-\d{2}\))$`)
)

// licence is the file of Misstep's own licence.
const licence = "LICENSE"

// ready refuses a version that is none, and a release of which CHANGELOG.md does not tell. It says what a release still lacks.
func (r release) ready(say io.Writer) error {
	text, err := os.ReadFile(filepath.Join(r.Root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if err := told(string(text), r.Version); err != nil {
		return err
	}
	if development(r.Version) {
		fmt.Fprintf(say, "dist: %s is a development version, and no release: CONTRIBUTING.md says how one is made\n", r.Version)
	}
	_, err = os.Stat(filepath.Join(r.Root, licence))
	if errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(say, "dist: there is no %s: Misstep's owner has to choose a licence before a release is published\n", licence)
		return nil
	}
	return err
}

func development(v string) bool { return strings.HasSuffix(v, "-dev") }

// told refuses a release that is not the first section of a changelog with changes in it.
func told(changelog, v string) error {
	switch {
	case !numbers.MatchString(v):
		return fmt.Errorf("VERSION says %q: expected N.N.N for a release, or N.N.N-dev between releases", v)
	case development(v):
		return nil
	}
	first := "no release"
	heads := section.FindAllStringSubmatchIndex(changelog, -1)
	for i, head := range heads {
		end := len(changelog)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		if strings.TrimSpace(changelog[head[1]:end]) == "" {
			continue
		}
		if first = changelog[head[0]:head[1]]; head[2] >= 0 && changelog[head[2]:head[3]] == v {
			return nil
		}
		break
	}
	return fmt.Errorf("VERSION says %s, and CHANGELOG.md begins with %s: give the changes of the release the heading "+
		"\"## %s (YYYY-MM-DD)\", or VERSION a number that ends in -dev", v, strings.TrimPrefix(first, "## "), v)
}
