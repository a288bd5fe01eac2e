// Package app holds what its packages share. Each package below it is one thing that Misstep does on this machine, apart from
// parsing a command line and printing:
//
//	local         what is installed: catalogues, caches, the agent
//	station       a coordinator, on the network or in this process
//	executors     the executors of trials, and runners
//	catalogues    what a machine has, added to the shared catalogue of a coordinator
//	submission    campaign and recipe files resolved in the catalogues
//	hunt          a campaign run to its end in a folder
//	reproduction  from a finding to a verified reproducer
//	bundles       bundles written, signed and checked
//	replay        a bundle repeated
//	retest        bundles repeated on other builds
//	compare       two builds, by trials of the same recipes
//	report        what a JVM left when it crashed or hung, identified
//	check         somebody's program, run as it is with the agent in its JVM
//	jfrcheck      recordings that somebody has, checked and compared
//	sharing       corpora: where they are, export, garbage collection
//	doctor        what this machine can do
//
// None of them writes to stdout or exits; progress goes to a Say.
package app

import (
	"errors"
	"regexp"
)

// Say takes one line of progress, formatted as by fmt.Printf and without its end of line.
type Say func(format string, args ...any)

// ErrInterrupted is wrapped by errors of work that the context ended.
var ErrInterrupted = errors.New("interrupted")

var grpcPrefix = regexp.MustCompile(`rpc error: code = \w+ desc = `)

// Message returns an error's text for display, without gRPC's prefix.
func Message(err error) string { return grpcPrefix.ReplaceAllString(err.Error(), "") }
