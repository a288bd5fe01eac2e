package cireport

import (
	"encoding/xml"
	"fmt"
	"strings"
	"unicode"
)

// The elements that build servers have in common (Jenkins' xUnit schema, junit-10.xsd).
type (
	testSuites struct {
		XMLName xml.Name    `xml:"testsuites"`
		Suites  []testSuite `xml:"testsuite"`
	}
	testSuite struct {
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Time     string     `xml:"time,attr"`
		Cases    []testCase `xml:"testcase"`
	}
	testCase struct {
		Class   string   `xml:"classname,attr"`
		Name    string   `xml:"name,attr"`
		Time    string   `xml:"time,attr"`
		Failure *message `xml:"failure,omitempty"`
		Skipped *message `xml:"skipped,omitempty"`
	}
	message struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit returns the report as XML: a test for each case. Allowed findings are skipped tests, since a passed one would hide them.
func (r Report) JUnit() ([]byte, error) {
	suite := testSuite{Name: r.Command, Tests: len(r.Cases), Time: fmt.Sprintf("%.3f", r.Time.Seconds())}
	for _, c := range r.Cases {
		test := testCase{Class: plain(strings.ReplaceAll(r.Command, " ", ".") + "." + c.Group), Name: plain(c.Name), Time: "0"}
		switch m := &(message{Message: plain(c.Summary), Text: plain(c.Detail)}); c.State {
		case Failed:
			m.Type, test.Failure = c.Group, m
			suite.Failures++
		case Allowed, Skipped:
			test.Skipped = m
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, test)
	}
	text, err := xml.MarshalIndent(testSuites{Suites: []testSuite{suite}}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the JUnit report: %w", err)
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

// plain replaces what XML 1.0 or a terminal cannot show.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
