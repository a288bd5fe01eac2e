// Package doctest runs what the pages of the documentation show between their fences: each page is one shell session, from top to
// bottom, and what it shows as output must be printed.
package doctest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Page is the fences of one file, in order.
type Page struct {
	// Name is the path below the repository's root, such as docs/howto/backup.md.
	Name   string
	Fences []Fence
}

// Fence is one fenced block of code.
type Fence struct {
	// Line of the opening fence, from 1.
	Line int
	// Language behind the opening fence: sh and console are run, anything else is data.
	Language string
	// Lines between the fences, without the fence's own indentation.
	Lines []string
	// Skip is why the block is not run, empty when it is.
	Skip string
	// Needs is what the block needs and not every machine has (s3, postgres, a program); where it is missing the block is skipped.
	Needs string
	// Save is the file into which the block is written before the session continues, empty for none.
	Save string
	// Campaign is true for a part of a campaign's file: such a campaign must be valid.
	Campaign bool
}

// Shell reports whether the block holds commands.
func (f Fence) Shell() bool { return f.Language == "sh" || f.Language == "console" }

var (
	fence      = regexp.MustCompile("^( *)```(\\S*)\\s*$")
	annotation = regexp.MustCompile(`^\s*<!-- doctest: (skip, |save |needs |campaign\b)(.*?) -->\s*$`)
	misspelt   = regexp.MustCompile(`^\s*<!--\s*doctest`)
)

// Pages reads the pages that are held to what they show: README.md, docs/tutorial.md and docs/howto.
func Pages(root string) ([]Page, error) {
	names, err := filepath.Glob(filepath.Join(root, "docs", "howto", "*.md"))
	if err != nil {
		return nil, err
	}
	var pages []Page
	for _, path := range append([]string{filepath.Join(root, "README.md"), filepath.Join(root, "docs", "tutorial.md")}, names...) {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return nil, err
		}
		page, err := parse(name, string(text))
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
	}
	return pages, nil
}

// parse finds a page's fences. A fence that does not say what it is, is an error.
func parse(name, text string) (Page, error) {
	page := Page{Name: name}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if m := misspelt.FindString(lines[i]); m != "" && !announces(lines, i) {
			return page, fmt.Errorf("%s:%d: an annotation is a line \"<!-- doctest: skip, WHY -->\", \"… needs WHAT -->\" or "+
				"\"… save FILE -->\" right above a fence", name, i+1)
		}
		open := fence.FindStringSubmatch(lines[i])
		if open == nil {
			continue
		}
		end := slices.IndexFunc(lines[i+1:], func(l string) bool { return strings.TrimSpace(l) == "```" })
		if end < 0 {
			return page, fmt.Errorf("%s:%d: the fence does not end", name, i+1)
		}
		f := Fence{Line: i + 1, Language: open[2]}
		for _, l := range lines[i+1 : i+1+end] {
			f.Lines = append(f.Lines, strings.TrimPrefix(l, open[1]))
		}
		if i > 0 {
			f.annotate(lines[i-1])
		}
		if err := f.check(); err != nil {
			return page, fmt.Errorf("%s:%d: %w", name, f.Line, err)
		}
		page.Fences = append(page.Fences, f)
		i += end + 1
	}
	return page, nil
}

// annotate takes what the line above a fence says of it.
func (f *Fence) annotate(line string) {
	m := annotation.FindStringSubmatch(line)
	if m == nil || (m[1] == "campaign") != (m[2] == "") {
		return
	}
	switch m[1] {
	case "campaign":
		f.Campaign = true
	case "save ":
		f.Save = m[2]
	case "needs ":
		f.Needs = m[2]
	default:
		f.Skip = m[2]
	}
}

// announces reports whether a line is an annotation with a fence below it.
func announces(lines []string, i int) bool {
	return annotation.MatchString(lines[i]) && i+1 < len(lines) && fence.MatchString(lines[i+1])
}

func (f Fence) check() error {
	switch {
	case f.Language == "":
		return errors.New("the fence has no language: sh (commands), console (commands after \"$ \", with their output), or " +
			"that of its data")
	case !f.Shell() && f.Save == "" && f.Skip == "" && !f.Campaign:
		return errors.New("write above this block what becomes of it: <!-- doctest: save FILE -->, campaign or skip, WHY")
	}
	return nil
}
