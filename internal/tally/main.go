// Command tally sums up the results of all test tools in one closing line. It reads them as JUnit XML.
//
//	tally run NAME FILE.xml -- COMMAND…   runs a command and writes its success as a test result
//	tally sum DIR                         prints failures, skips, and the slowest tests and packages of DIR/**/*.xml and
//	                                      "N passed, N failed, N skipped"
package main

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: tally run NAME FILE.xml -- COMMAND… | tally sum DIR")

func run(args []string, stdout, stderr io.Writer) error {
	switch {
	case len(args) >= 5 && args[0] == "run" && args[3] == "--":
		return record(args[1], args[2], args[4:], stdout, stderr)
	case len(args) == 2 && args[0] == "sum":
		return sum(args[1], stdout)
	}
	return errUsage
}

// suites is the root of a JUnit file, or a single suite: tools write either.
type suites struct {
	Name    string     `xml:"name,attr"`
	Seconds string     `xml:"time,attr"`
	Suites  []suites   `xml:"testsuite"`
	Cases   []testCase `xml:"testcase"`
}

type testCase struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	Seconds string   `xml:"time,attr,omitempty"`
	Failure *message `xml:"failure"`
	Error   *message `xml:"error"`
	Skipped *message `xml:"skipped"`
}

type message struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (m *message) line() string {
	text := strings.TrimSpace(m.Message)
	if text == "" || text == "Failed" || text == "Skipped" {
		text = strings.TrimSpace(m.Text)
	}
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " | ")
}

// record runs a command, forwards its output and writes a JUnit file with one test. A failure of the command is in the file, not in
// the error: `tally sum` reports it.
func record(name, file string, command []string, stdout, stderr io.Writer) error {
	start := time.Now()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	result := testCase{Name: name, Class: "step"}
	if err := cmd.Run(); err != nil {
		result.Failure = &message{Message: fmt.Sprintf("%s: %v", strings.Join(command, " "), err)}
	}
	result.Seconds = fmt.Sprintf("%.1f", time.Since(start).Seconds())
	text, err := xml.MarshalIndent(struct {
		XMLName xml.Name   `xml:"testsuite"`
		Cases   []testCase `xml:"testcase"`
	}{Cases: []testCase{result}}, "", " ")
	if err != nil {
		return fmt.Errorf("write result of %s: %w", name, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make folder of %s: %w", file, err)
	}
	return os.WriteFile(file, text, 0o644)
}

type totals struct {
	passed, failed, skipped int
	// slow are tests, and packages as sums, that took a while.
	slow, packages []timed
}

// timed is what took a while; a test with subtests counts theirs.
type timed struct {
	seconds float64
	name    string
}

// Of tests and packages that took at least slowSeconds the slowest are printed, mostSlow of each at most.
const (
	slowSeconds = 10
	mostSlow    = 40
)

// keepSlow adds what took, in the attribute's seconds, long enough to be printed.
func keepSlow(slow []timed, seconds, name string) []timed {
	if s, err := strconv.ParseFloat(seconds, 64); err == nil && s >= slowSeconds {
		return append(slow, timed{s, name})
	}
	return slow
}

func printSlow(stdout io.Writer, word string, slow []timed) {
	slices.SortStableFunc(slow, func(a, b timed) int { return cmp.Compare(b.seconds, a.seconds) })
	for _, s := range slow[:min(len(slow), mostSlow)] {
		fmt.Fprintf(stdout, "%-7s %6.1f s  %s\n", word, s.seconds, s.name)
	}
}

func sum(dir string, stdout io.Writer) error {
	var all totals
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".xml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var root suites
		if err := xml.Unmarshal(text, &root); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		all.add(root, stdout)
		return nil
	})
	if err != nil {
		return err
	}
	printSlow(stdout, "TOOK", all.slow)
	printSlow(stdout, "PACKAGE", all.packages)
	fmt.Fprintf(stdout, "%d passed, %d failed, %d skipped\n", all.passed, all.failed, all.skipped)
	switch {
	case all.failed > 0:
		return fmt.Errorf("%d tests failed", all.failed)
	case all.passed == 0:
		return fmt.Errorf("no test ran: there are no results in %s", dir)
	}
	return nil
}

func (t *totals) add(s suites, stdout io.Writer) {
	if len(s.Cases) > 1 { // not a step, which is its own test
		t.packages = keepSlow(t.packages, s.Seconds, s.Name)
	}
	for _, c := range s.Cases {
		name := c.Class + " " + c.Name
		t.slow = keepSlow(t.slow, c.Seconds, name)
		switch {
		case c.Failure != nil:
			t.failed++
			fmt.Fprintf(stdout, "FAILED  %s: %.400s\n", name, c.Failure.line())
		case c.Error != nil:
			t.failed++
			fmt.Fprintf(stdout, "FAILED  %s: %.400s\n", name, c.Error.line())
		case c.Skipped != nil:
			t.skipped++
			fmt.Fprintf(stdout, "SKIPPED %s: %.400s\n", name, c.Skipped.line())
		default:
			t.passed++
		}
	}
	for _, inner := range s.Suites {
		t.add(inner, stdout)
	}
}
