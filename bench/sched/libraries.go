package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"misstep/bench"
)

// libraryBugs are the programs of workloads/libraries.
var libraryBugs = []string{"lang-hash", "pool-clear", "disruptor-halt", "log4j-render", "gson-cycle", "pool2-invalidate"}

const (
	librarySeeds   = 2
	libraryRounds  = 300 // at most, in each of which two threads meet once
	guestLibraries = "/libraries"
)

// isLibrary reports whether a cell runs a program of workloads/libraries.
func (c cell) isLibrary() bool { return slices.Contains(libraryBugs, c.Race) }

// libraryCells lists the cells of these programs, seed by seed.
func libraryCells(strategies []string) (all []cell) {
	for seed := range uint64(librarySeeds) {
		for _, strategy := range strategies {
			for _, bug := range libraryBugs {
				all = append(all, cell{Race: bug, Strategy: strategy, Seed: firstSeed + seed, Iterations: libraryRounds})
			}
		}
	}
	return all
}

// ofLibraries is the machine with these programs.
func (l *lab) ofLibraries() repetition {
	return repetition{
		kindLibraryAgain, kindLibraryRecording, l.policy + l.build + l.digests[libraryBugs[0]], libraryBugs,
		libraryCells([]string{"chaos"}),
	}
}

// findLibraries looks for the programs, which maven builds.
func (l *lab) findLibraries() error {
	dir, err := filepath.Abs(filepath.Join("build", "libraries", "libraries"))
	if err != nil {
		return fmt.Errorf("finding the programs of workloads/libraries: %w", err)
	}
	if _, err := os.Stat(dir); err != nil {
		return nil
	}
	jar, err := digest(filepath.Join(dir, "lib", "misstep-libraries.jar"))
	if err != nil {
		return err
	}
	for _, bug := range libraryBugs {
		l.digests[bug] = jar
	}
	l.libraries = dir
	return nil
}

func (l *lab) hasLibraries() bool {
	if l.libraries == "" || l.java == "" {
		logf("skipping the programs of workloads/libraries: run mvn -q -f workloads/pom.xml package, and set JAVA_HOME")
		return false
	}
	return true
}

// libraryBugs finds the bugs under chaos and counts them under none; has the product write bundles; boots a machine that shows all
// of them again and again, and records it.
func (l *lab) libraryBugs(ctx context.Context, s *store) error {
	if !l.hasLibraries() {
		return nil
	}
	if err := l.cells(ctx, s, libraryCells([]string{"chaos", "none"})); err != nil {
		return err
	}
	if err := l.bundles(ctx, s); err != nil {
		return err
	}
	if err := l.again(ctx, s, l.ofLibraries()); err != nil {
		return err
	}
	return l.recordings(ctx, s, l.ofLibraries())
}

// libraryCommand returns the command of a cell in the guest. With both compilers a program takes several times as long there.
func libraryCommand(c cell) []string {
	return []string{
		os.Getenv(javaVariable), "-Xms64m", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-cp", filepath.Join(guestLibraries, "lib", "*"), "misstep.workloads.libraries.Main", c.Race, strconv.Itoa(c.Iterations),
	}
}

var (
	roundLine    = regexp.MustCompile(`(?m)^misstep: \S+ validation failed: bug in round (\d+): (.*)$`)
	verifiedLine = regexp.MustCompile(`(?m)^misstep: \S+ verified 1 repetitions$`)
)

// judgeLibrary parses the output of a program of workloads/libraries.
func (r *result) judgeLibrary(output string, took time.Duration) {
	r.Took = took.Seconds()
	if m := roundLine.FindStringSubmatch(output); m != nil {
		r.Found, r.What = true, m[2]
		r.Ran, _ = strconv.Atoi(m[1])
		r.Ran++ // they are counted from 0
		return
	}
	if !verifiedLine.MatchString(output) {
		r.Trouble = fmt.Sprintf("the program's output reports neither the bug nor its absence: %.300q", output)
		return
	}
	r.Ran = r.Iterations
}

// libraryGoals returns the table and the goals of these programs.
func libraryGoals(l *lab, s *store) (bench.Table, []bench.Goal) {
	t := bench.Table{
		Title: fmt.Sprintf("known bugs of libraries in virtual time: medians with intervals of 95 %% (up to %d rounds)",
			libraryRounds),
		Columns: []string{"program", "chaos: found", "rounds", "none: found", "shows", "the same machine again", "bundle"},
	}
	shownBy, least, packed := 0, math.NaN(), 0
	for _, bug := range libraryBugs {
		chaos, ok := figureOf(l, s, bug, "chaos")
		if !ok {
			continue
		}
		none, _ := figureOf(l, s, bug, "none")
		row := []string{
			bug, fmt.Sprintf("%d of %d", chaos.Found, chaos.Runs), chaos.Iterations.String(),
			fmt.Sprintf("%d of %d", none.Found, none.Runs), "", "", "",
		}
		if chaos.Found > 0 {
			shownBy++
		}
		if all := l.shown(s, l.ofLibraries()); len(all) > 0 {
			shows, same, boots := s.repeated(l.ofLibraries(), bug)
			if boots > 0 {
				row[5] = fmt.Sprintf("%d of %d, %d alike", shows, boots, same)
			}
			if boots >= againBoots && !(float64(same) >= least) { // true for the first one as well
				least = float64(same)
			}
		}
		shows := 0
		for _, e := range s.of(kindBundle, l.digests[bug]) {
			if e.Bundle.Race == bug {
				row[6] = e.Bundle.String()
				shows = min(1, e.Bundle.Hits)
			}
		}
		packed += shows
		t.Rows = append(t.Rows, row)
	}
	return t, []bench.Goal{
		{Name: "bugs of libraries that chaos finds", Goal: 6, Measured: float64(shownBy), Unit: "bugs", AtLeast: true},
		{
			Name: "the same machine shows each in the same way, of 20", Goal: againBoots, Measured: least, Unit: "boots",
			AtLeast: true,
		},
		{
			Name: "its recording replays identically, of 5", Goal: replays, Measured: s.identical(l.ofLibraries()), Unit: "replays",
			AtLeast: true,
		},
		{Name: "bugs of libraries with a bundle that shows them", Goal: 6, Measured: float64(packed), Unit: "bugs", AtLeast: true},
	}
}
