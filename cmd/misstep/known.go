package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"misstep/app/station"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// knownFlags name a catalogue of known bugs that the store keeps.
type knownFlags struct {
	Known string `help:"Known bugs of your own, in the form of known/known.yaml; the store keeps them (see misstep known)." type:"path" placeholder:"FILE"`
}

// bugs reads the file; none without the flag.
func (f knownFlags) bugs() ([]*misstepv1.KnownBug, error) {
	if f.Known == "" {
		return nil, nil
	}
	return readKnown(f.Known)
}

func readKnown(path string) ([]*misstepv1.KnownBug, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read known bugs: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, known.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read known bugs: %w", err)
	}
	bugs, err := known.ParseOwn(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return bugs, nil
}

type knownCommand struct {
	List   knownList   `cmd:"" default:"withargs" help:"List known bugs: the store's own first, then the built-in ones."`
	Show   knownShow   `cmd:"" help:"Show one known bug and the findings that have its signatures."`
	Add    knownAdd    `cmd:"" help:"Add or replace known bugs, from a file or for a finding."`
	Remove knownRemove `cmd:"" help:"Remove one of the store's own known bugs."`
	Check  knownCheck  `cmd:"" help:"Check a file of known bugs: errors, matches that are too wide, and the findings of a store that it would label."`
}

// storedBugs returns the known bugs of a store, and the station on it, which the caller closes; nil where no store is named.
func (f coordinatorFlags) storedBugs(ctx context.Context, e *env) (*station.Station, []*misstepv1.KnownBug, error) {
	if len(f.Coordinator) == 0 && f.Dir == "" {
		return nil, nil, nil
	}
	st, err := f.open(e)
	if err != nil {
		return nil, nil, err
	}
	r, err := st.ListKnownBugs(ctx, &misstepv1.ListKnownBugsRequest{})
	if err != nil {
		st.Close()
		return nil, nil, err
	}
	return st, r.GetBugs(), nil
}

type knownList struct {
	coordinatorFlags
	Own  bool `help:"Leave the built-in ones out."`
	JSON bool `help:"Print a list of known bugs."`
}

// Run lists.
func (c *knownList) Run(ctx context.Context, e *env) error {
	st, all, err := c.storedBugs(ctx, e)
	if err != nil {
		return err
	}
	if st != nil {
		defer st.Close()
	}
	own, err := known.Own(all)
	if err != nil {
		return err
	}
	if !c.Own {
		for _, b := range known.Default().With(own).Bugs()[len(all):] {
			all = append(all, b.Proto())
		}
	}
	if c.JSON {
		return e.json(raws(all))
	}
	t := table(e.stdout)
	fmt.Fprintln(t, "known bug\tadded\tversions\tfixed in\twhat")
	catalogue := known.Default().With(own)
	for _, b := range all {
		added := "built-in"
		if b.GetAdded() != nil {
			added = b.GetAdded().AsTime().Local().Format(time.DateOnly)
		}
		fixes, _ := catalogue.Bug(b.GetId())
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", b.GetId(), added, orDash(strings.Join(b.GetVersions(), " ")),
			orDash(strings.Join(fixes.Fixes(), ", ")), b.GetTitle())
	}
	return t.Flush()
}

type knownShow struct {
	coordinatorFlags
	ID   string `arg:"" help:"Id of the known bug."`
	JSON bool   `help:"Print the known bug."`
}

// Run shows one. Without a store it is one of the built-in ones.
func (c *knownShow) Run(ctx context.Context, e *env) error {
	st, stored, err := c.storedBugs(ctx, e)
	if err != nil {
		return err
	}
	if st != nil {
		defer st.Close()
	}
	own, err := known.Own(stored)
	if err != nil {
		return err
	}
	all := known.Default().With(own)
	found, ok := all.Bug(c.ID)
	if !ok {
		for _, b := range all.Bugs() {
			if strings.EqualFold(b.ID, c.ID) {
				return fmt.Errorf("no known bug %q, but %s", c.ID, b.ID)
			}
		}
		return fmt.Errorf("no known bug %q; `misstep known list` shows them", c.ID)
	}
	bug := found.Proto()
	for _, b := range stored {
		if b.GetId() == c.ID {
			bug = b
		}
	}
	if c.JSON {
		return e.json(bug)
	}
	renderKnownBug(e.stdout, bug, found.Fixes())
	if st == nil {
		return nil
	}
	return renderMatched(ctx, e.stdout, st, []*misstepv1.KnownBug{bug})
}

func renderKnownBug(w io.Writer, bug *misstepv1.KnownBug, fixes []string) {
	fmt.Fprintf(w, "%s  %s\n", bug.GetId(), bug.GetTitle())
	for _, line := range []struct{ name, text string }{
		{"link", bug.GetLink()},
		{"note", bug.GetNote()},
		{"description", bug.GetDescription()},
		{"versions", strings.Join(bug.GetVersions(), " ")},
		{"fixed in", strings.Join(fixes, ", ")},
	} {
		if line.text != "" {
			fmt.Fprintf(w, "%s: %s\n", line.name, line.text)
		}
	}
	for _, m := range bug.GetMatches() {
		fmt.Fprintf(w, "match: %s %s\n", m.GetKind(), quotedList(m.GetParts()))
	}
}

// quotedList prints strings as a YAML list in one line.
func quotedList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = strconv.Quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

type knownAdd struct {
	coordinatorFlags
	File    string   `arg:"" optional:"" help:"File of known bugs in the form of known/known.yaml, with link, note and fixed_in." type:"path" placeholder:"FILE"`
	Finding string   `help:"Make an entry that matches exactly this finding, instead of a file." placeholder:"ID"`
	ID      string   `name:"id" help:"Id of that entry." placeholder:"BUG"`
	Title   string   `help:"Its title (default: the finding's)." placeholder:"TEXT"`
	Link    string   `help:"Its link." placeholder:"URL"`
	Note    string   `help:"Its note." placeholder:"TEXT"`
	FixedIn []string `help:"Versions from which on it is fixed, or names of JDK builds." placeholder:"VERSION"`
}

// Run adds.
func (c *knownAdd) Run(ctx context.Context, e *env) error {
	if (c.File == "") == (c.Finding == "") {
		return errors.New("give either a FILE of known bugs, or --finding ID --id BUG")
	}
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	var bugs []*misstepv1.KnownBug
	if c.File != "" {
		bugs, err = readKnown(c.File)
	} else {
		bugs, err = c.forFinding(ctx, st)
	}
	if err != nil {
		return err
	}
	r, err := st.PutKnownBugs(ctx, &misstepv1.PutKnownBugsRequest{Bugs: bugs})
	if err != nil {
		return err
	}
	for _, w := range r.GetWarnings() {
		e.say("misstep: known bug %s", w)
	}
	return renderMatched(ctx, e.stdout, st, bugs)
}

// forFinding returns an entry that has the signatures of one finding and of what was merged into it.
func (c *knownAdd) forFinding(ctx context.Context, st *station.Station) ([]*misstepv1.KnownBug, error) {
	if c.ID == "" {
		return nil, errors.New("--finding needs the --id of the known bug")
	}
	r, err := st.GetFinding(ctx, &misstepv1.GetFindingRequest{FindingId: c.Finding})
	if err != nil {
		return nil, err
	}
	f := r.GetFinding()
	if f.GetAssorted() != "" {
		return nil, fmt.Errorf("%s holds assorted failures (%s) and cannot be one known bug", f.GetId(), f.GetAssorted())
	}
	s, _ := signature.Upgrade(f.GetSignature())
	bug := &misstepv1.KnownBug{
		Id: c.ID, Title: c.Title, Link: c.Link, Note: c.Note, FixedIn: c.FixedIn,
		Matches: []*misstepv1.KnownMatch{{Kind: s.GetKind(), Parts: s.GetParts()}},
	}
	if bug.GetTitle() == "" {
		bug.Title = f.GetTitle()
	}
	return []*misstepv1.KnownBug{bug}, nil
}

type knownRemove struct {
	coordinatorFlags
	ID string `arg:"" help:"Id of the known bug."`
}

// Run removes.
func (c *knownRemove) Run(ctx context.Context, e *env) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	_, err = st.RemoveKnownBug(ctx, &misstepv1.RemoveKnownBugRequest{BugId: c.ID})
	return err
}

type knownCheck struct {
	coordinatorFlags
	File string `arg:"" help:"File of known bugs." type:"path" placeholder:"FILE"`
}

// Run checks.
func (c *knownCheck) Run(ctx context.Context, e *env) error {
	bugs, err := readKnown(c.File)
	if err != nil {
		return err
	}
	warnings := known.AllWarnings(bugs)
	for _, w := range warnings {
		fmt.Fprintf(e.stdout, "warning: %s\n", w)
	}
	if len(warnings) == 0 {
		fmt.Fprintf(e.stdout, "%s, none too wide\n", plural(len(bugs), "known bug"))
	}
	if len(c.Coordinator) == 0 && c.Dir == "" {
		return nil
	}
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	return renderMatched(ctx, e.stdout, st, bugs)
}

// renderMatched prints which findings of a store have signatures of the bugs.
func renderMatched(ctx context.Context, w io.Writer, st *station.Station, bugs []*misstepv1.KnownBug) error {
	findings, _, err := station.Findings(ctx, st, &misstepv1.ListFindingsRequest{})
	if err != nil {
		return err
	}
	for _, b := range bugs {
		one, err := known.Own([]*misstepv1.KnownBug{b})
		if err != nil {
			return err
		}
		n := 0
		for _, f := range findings {
			if f.GetAssorted() != "" || !one.Bugs()[0].Causes(f.GetSignature()) {
				continue
			}
			n++
			fmt.Fprintf(w, "%s has the signature of %s  %s\n", b.GetId(), f.GetId(), f.GetTitle())
		}
		if n == 0 {
			fmt.Fprintf(w, "%s matches no finding\n", b.GetId())
		}
	}
	return nil
}
