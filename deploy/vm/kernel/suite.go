package kernel

import (
	"fmt"
	"slices"
	"strings"
)

// Suite is a suite of Debian's archive whose newest cloud kernel can meet the requirements. The zero value is sid.
type Suite int

// Suites that had such a kernel on 2026-11-22 (7.2.12 to 7.3.4). trixie (6.12) has none.
const (
	Sid Suite = iota
	Testing
	TrixieBackports
	Experimental
)

var suiteNames = [...]string{Sid: "sid", Testing: "testing", TrixieBackports: "trixie-backports", Experimental: "experimental"}

// Suites returns all suites, sid first.
func Suites() []Suite { return []Suite{Sid, Testing, TrixieBackports, Experimental} }

// String returns the suite's name, as in apt's sources.
func (s Suite) String() string { return suiteNames[s] }

// ParseSuite reads a suite's name.
func ParseSuite(name string) (Suite, error) {
	if i := slices.Index(suiteNames[:], name); i >= 0 {
		return Suite(i), nil
	}
	last := len(suiteNames) - 1
	return Sid, fmt.Errorf("suite %q: expected %s or %s", name, strings.Join(suiteNames[:last], ", "), suiteNames[last])
}

// Label returns the name under which something of a suite is cached: name itself for sid, name-SUITE for the others.
func (s Suite) Label(name string) string {
	if s == Sid {
		return name
	}
	return name + "-" + s.String()
}
