package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"misstep/app/quickstart"
	"misstep/deploy/jdk"
)

type quickstartCommand struct {
	Dir  string        `help:"Folder of the hunt; another run on it continues." type:"path" default:"misstep-quickstart" placeholder:"DIR"`
	For  time.Duration `within:"(0s,)" help:"Time to hunt." default:"1m" placeholder:"DURATION"`
	JDKs int           `name:"jdks" within:"[1,100]" help:"Maximum number of JDKs, each of another feature version: JAVA_HOME's first, then that of the PATH, then the newest." default:"3" placeholder:"N"`
	JSON bool          `help:"Print the campaign's state, findings and bundles as JSON, as misstep hunt does."`
}

// Help is shown below the command's usage.
func (c *quickstartCommand) Help() string {
	return "Looks for JDKs in JAVA_HOME, on the PATH and where distributions, SDKMAN! and IDEs put them, adds them to the\n" +
		"catalogue where they are, and hunts on the workloads of this release. Needs no root and no network.\n" +
		"The campaign is kept in the folder, for misstep hunt."
}

// Run hunts on the JDKs of this machine.
func (c *quickstartCommand) Run(ctx context.Context, e *env) error {
	file, err := quickstart.Prepare(ctx, e.installation(), jdk.FindInstalled("/"), c.JDKs, c.Dir, e.say)
	if err != nil {
		return err
	}
	hunting := huntCommand{Campaign: file, Dir: c.Dir, For: c.For, JSON: c.JSON}
	if err := hunting.Run(ctx, e); err != nil || c.JSON {
		return err
	}
	dir := shellWord(shortPath(c.Dir))
	_, err = fmt.Fprintf(e.stdout, "hunt longer: misstep hunt %s --dir %s --for 10m\n",
		shellWord(shortPath(filepath.Join(c.Dir, "campaign.yaml"))), dir)
	return err
}
