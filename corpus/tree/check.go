package tree

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// check checks sorted entries by the rules of FORMAT.md.
func check(entries []Entry) error {
	if len(entries) > MaxEntries {
		return fmt.Errorf("%d entries, at most %d are allowed", len(entries), MaxEntries)
	}
	byPath := make(map[string]Entry, len(entries))
	folded := make(map[string]string, len(entries))
	var total int64
	previous := ""
	for _, e := range entries {
		if err := checkEntry(e); err != nil {
			return err
		}
		if e.Path <= previous {
			return fmt.Errorf("entry %q: twice, or out of order after %q", e.Path, previous)
		}
		previous = e.Path
		if parent := path.Dir(e.Path); parent != "." && byPath[parent].Kind != KindDir {
			return fmt.Errorf("entry %q: its folder is not an entry of kind dir", e.Path)
		}
		key := fold(e.Path)
		if other, taken := folded[key]; taken {
			return fmt.Errorf("entries %q and %q: the same name on a file system that ignores case", other, e.Path)
		}
		folded[key] = e.Path
		if total += e.Size; total > MaxBytes {
			return fmt.Errorf("files of more than %d bytes in all", int64(MaxBytes))
		}
		byPath[e.Path] = e
	}
	lookup := func(p string) (string, bool) {
		e := byPath[p]
		return e.Target, e.Kind == KindLink
	}
	steps := maxSteps
	for _, e := range entries {
		if e.Kind != KindLink {
			continue
		}
		if err := resolve(e.Path, e.Target, lookup, &steps); err != nil {
			return fmt.Errorf("link %q to %q: %w", e.Path, e.Target, err)
		}
	}
	return nil
}

func checkEntry(e Entry) error {
	if err := CheckPath(e.Path); err != nil {
		return err
	}
	switch e.Kind {
	case KindDir:
		if e.Size != 0 || e.Target != "" || !e.Digest.IsZero() {
			return fmt.Errorf("entry %q: a folder has neither size nor digest nor target", e.Path)
		}
	case KindFile, KindExecutable:
		if e.Size < 0 || e.Size > MaxBytes || e.Target != "" || e.Digest.IsZero() {
			return fmt.Errorf("entry %q: a file has a size up to %d, a digest and no target", e.Path, int64(MaxBytes))
		}
	case KindLink:
		if e.Size != 0 || !e.Digest.IsZero() || e.Target == "" || len(e.Target) > maxPath {
			return fmt.Errorf("entry %q: a link has a target of at most %d bytes and neither size nor digest", e.Path, maxPath)
		}
		if err := checkText(e.Target); err != nil {
			return fmt.Errorf("link %q: target %.100q: %w", e.Path, e.Target, err)
		}
	default:
		return fmt.Errorf("entry %q: unknown kind %d", e.Path, e.Kind)
	}
	return nil
}

// CheckPath returns an error if p may not be a path of a tree (or of a bundle): it must be relative, without empty, "." or ".."
// components, valid UTF-8 without control characters and backslashes, and of bounded length.
func CheckPath(p string) error {
	if p == "" || len(p) > maxPath {
		return fmt.Errorf("path %.100q: must have 1 to %d bytes", p, maxPath)
	}
	if err := checkText(p); err != nil {
		return fmt.Errorf("path %.100q: %w", p, err)
	}
	names := strings.Split(p, "/")
	if len(names) > maxDepth {
		return fmt.Errorf("path %.100q: more than %d folders deep", p, maxDepth)
	}
	for _, name := range names {
		switch {
		case name == "" && strings.HasPrefix(p, "/"):
			return fmt.Errorf("path %.100q: absolute", p)
		case name == "" || name == ".":
			return fmt.Errorf("path %.100q: has an empty component or %q", p, ".")
		case name == "..":
			return fmt.Errorf("path %.100q: climbs with %q", p, "..")
		case len(name) > maxName:
			return fmt.Errorf("path %.100q: a component has more than %d bytes", p, maxName)
		}
	}
	return nil
}

func checkText(s string) error {
	if !utf8.ValidString(s) {
		return errors.New("not valid UTF-8")
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\\' }); i >= 0 {
		return fmt.Errorf("has the forbidden character %q", s[i])
	}
	return nil
}

// fold maps paths that are equal on a file system that ignores case, or normalises names, to one key.
func fold(p string) string {
	for i := range len(p) {
		if p[i] >= utf8.RuneSelf {
			return cases.Fold().String(norm.NFKC.String(p))
		}
	}
	return strings.ToLower(p)
}

var (
	errLeaves = errors.New("leaves the tree")
	errLoop   = errors.New("is a loop, or passes through too many links")
)

const (
	maxHops  = 40        // as Linux's MAXSYMLINKS
	maxSteps = 5_000_000 // components resolved for all links of one manifest
)

// resolve follows the link at p as the kernel would. A purely lexical check would miss an escape through another link
// (a/up -> .., a/out -> up/..). The error is errLeaves or errLoop.
func resolve(p, target string, link func(path string) (target string, ok bool), steps *int) error {
	if strings.HasPrefix(target, "/") {
		return errLeaves
	}
	at := strings.Split(p, "/")
	at = at[:len(at)-1]
	todo := []string{target} // components in reverse order
	for hops := 0; len(todo) > 0; {
		piece := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		name, rest, more := strings.Cut(piece, "/")
		if more && rest != "" {
			todo = append(todo, rest)
		}
		if *steps--; *steps < 0 {
			return errLoop
		}
		switch name {
		case "", ".":
		case "..":
			if len(at) == 0 {
				return errLeaves
			}
			at = at[:len(at)-1]
		default:
			at = append(at, name)
			if len(at) > 2*maxDepth {
				return errLoop
			}
			next, isLink := link(strings.Join(at, "/"))
			if !isLink {
				continue
			}
			if hops++; hops > maxHops {
				return errLoop
			}
			if strings.HasPrefix(next, "/") {
				return errLeaves
			}
			at = at[:len(at)-1]
			todo = append(todo, next)
		}
	}
	return nil
}
