package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"misstep/app/compared"
	"misstep/app/hunt"
	misstepv1 "misstep/proto/misstep/v1"
)

// renderHunt prints what a hunt found on at most one screen: new bugs in full, known ones in one line each.
func renderHunt(w io.Writer, r *hunt.Result) {
	width, height := sizeOf(w)
	var head bytes.Buffer
	renderCampaign(&head, r.Campaign)
	renderDoubts(&head, compared.OfCampaign(r.Campaign),
		fmt.Sprintf("misstep campaign show %s --dir %s", r.Campaign.GetId(), shellWord(shortPath(r.Dir))))
	if r.Audit != nil && r.Audit.Trials+r.Audit.WithoutEvidence > 0 {
		fmt.Fprintln(&head, auditLine(r.Audit))
	}
	fmt.Fprintln(&head)
	fmt.Fprint(w, head.String())
	rest := height - strings.Count(head.String(), "\n") - 1 // the shell's prompt
	for _, line := range huntLines(r, width, rest) {
		fmt.Fprintln(w, line)
	}
}

// huntLines are the bugs of a hunt and the commands to type next, in at most height lines, but at least one new bug in full.
func huntLines(r *hunt.Result, width, height int) []string {
	list := "list them with: misstep findings list --dir " + shellWord(shortPath(r.Dir))
	look := "look at them in a browser: misstep web --dir " + shellWord(shortPath(r.Dir))
	if len(r.Bugs) == 0 {
		text := "no findings"
		if upTo := compared.UpTo(compared.OfCampaign(r.Campaign)); upTo != "" {
			text += "; " + upTo
		}
		return wrap(text, "", "", width)
	}
	foot := []string{""}
	for _, b := range r.Bugs {
		if path := firstBundle(b, r.Bundles); path != "" {
			foot = append(foot, "repeat one with: misstep replay "+shellWord(shortPath(path)))
			break
		}
	}
	foot = append(foot, list, look)
	split := slices.IndexFunc(r.Bugs, func(b *misstepv1.Bug) bool { return b.GetStatus() == "known" })
	if split < 0 {
		split = len(r.Bugs)
	}
	fresh, known := r.Bugs[:split], r.Bugs[split:]
	height -= len(foot)
	reserved := 0 // for known ones: a heading and a line
	if len(known) > 0 {
		reserved = 2
	}
	lines := newLines(fresh, r.Findings, r.Bundles, width, height-reserved)
	return slices.Concat(lines, knownLines(known, width, height-len(lines)), foot)
}

// newLines are new bugs in full, as many as there is room for, and at least one.
func newLines(
	bugs []*misstepv1.Bug, findings []*misstepv1.Finding, bundles map[string]string, width, height int,
) []string {
	if len(bugs) == 0 {
		return []string{"no new bugs"}
	}
	lines := []string{plural(len(bugs), "new bug") + ":"}
	for i, b := range bugs {
		gap, indent := strings.Repeat(" ", columnGap), strings.Repeat(" ", len(b.GetId())+2*columnGap)
		full := wrap(b.GetTitle(), gap+b.GetId()+gap, indent, width)
		if len(full) == 0 {
			full = []string{gap + b.GetId()}
		}
		if known := knownInPart(b, findings); known != "" {
			full = append(full, indent+"known as "+known)
		}
		full = append(full, indent+seenOn(b))
		if path := firstBundle(b, bundles); path != "" {
			full = append(full, indent+"misstep replay "+shellWord(shortPath(path)))
		}
		more := 0 // a line that says how many were left out, unless this is the last
		if i < len(bugs)-1 {
			more = 1
		}
		if i > 0 && len(lines)+len(full)+more > height {
			return append(lines, fmt.Sprintf("  … and %d more", len(bugs)-i))
		}
		lines = append(lines, full...)
	}
	return lines
}

// knownInPart says which known bug a new one is on some of its JDKs.
func knownInPart(b *misstepv1.Bug, findings []*misstepv1.Finding) string {
	i := slices.IndexFunc(findings, func(f *misstepv1.Finding) bool { return f.GetId() == b.GetId() })
	if i < 0 {
		return ""
	}
	return misstepv1.KnownText(findings[i])
}

// seenOn is where and how often a bug was seen.
func seenOn(b *misstepv1.Bug) string {
	text := plural(int(b.GetHits()), "hit")
	if tries := b.GetRate().GetTries(); tries > 0 {
		hits := b.GetRate().GetHits()
		text = fmt.Sprintf("%d of %d trials (%s)", hits, tries, percent(uint64(hits), uint64(tries)))
	}
	if len(b.GetJdks()) > 0 {
		text += " on " + strings.Join(b.GetJdks(), ", ")
	}
	if n := len(b.GetFindingIds()); n > 1 {
		text += ", " + plural(n, "finding")
	}
	return text
}

// knownLines are known bugs in one line each, as many as there is room for.
func knownLines(bugs []*misstepv1.Bug, width, height int) []string {
	if len(bugs) == 0 {
		return nil
	}
	findings := 0
	for _, b := range bugs {
		findings += len(b.GetFindingIds())
	}
	lines := []string{fmt.Sprintf("%s (%s):", plural(len(bugs), "known bug"), plural(findings, "finding"))}
	var rows [][]string
	for _, b := range bugs {
		rows = append(rows, []string{
			b.GetId(), plural(len(b.GetFindingIds()), "finding"), plural(int(b.GetHits()), "hit"), few(b.GetJdks()), b.GetTitle(),
		})
	}
	all := fitTable(width-columnGap, []column{{}, {}, {drop: 1}, {drop: 2}, {cut: 20}}, rows)[1:]
	if room := max(height-1, 1); len(all) > room {
		left := len(all) - room + 1
		all = append(all[:room-1:room-1], fmt.Sprintf("… and %d more", left))
	}
	for _, line := range all {
		lines = append(lines, "  "+line)
	}
	return lines
}

func firstBundle(b *misstepv1.Bug, bundles map[string]string) string {
	for _, id := range b.GetFindingIds() {
		if path := bundles[id]; path != "" {
			return path
		}
	}
	return ""
}

// shortPath is a path as one would type it here: relative if it is below the current folder.
func shortPath(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(short) {
		return short
	}
	return path
}

// shellWord is a word of a command, in quotes if a shell would take it for something else.
func shellWord(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+:./,@%") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
