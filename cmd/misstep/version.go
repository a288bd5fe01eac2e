package main

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"misstep/agent"
)

// version is set by the linker (see the Makefile); empty in other builds.
var version string

// versionFlag prints what was built and ends.
type versionFlag bool

// BeforeReset runs before anything else is looked at, so that no command is needed.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	info, _ := debug.ReadBuildInfo()
	fmt.Fprintln(app.Stdout, versionText(version, info))
	app.Exit(exitOK)
	return nil
}

// versionText describes a build in one line; info is nil when the program was built without it.
func versionText(version string, info *debug.BuildInfo) string {
	if info == nil {
		info = &debug.BuildInfo{}
	}
	var commit, modified string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = ", modified"
		}
	}
	return fmt.Sprintf("misstep %s (commit %s%s), %s, agent ABI %d", cmp.Or(version, info.Main.Version, "(devel)"),
		cmp.Or(commit, "unknown"), modified, cmp.Or(info.GoVersion, "Go unknown"), agent.ABIVersion)
}
