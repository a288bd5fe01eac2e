package main

import (
	"context"
	"fmt"

	"misstep/app/catalogues"
	"misstep/deploy/jdk"
	misstepv1 "misstep/proto/misstep/v1"
)

type jdkCommand struct {
	Add  jdkAdd  `cmd:"" help:"Import a JDK build under a name, or add it to the catalogue of a coordinator."`
	List jdkList `cmd:"" help:"List the JDK builds."`
	Show jdkShow `cmd:"" help:"Show one JDK build."`
	Rm   jdkRm   `cmd:"" help:"Remove a JDK build; a folder that was only referenced is kept, and so is what a coordinator still needs."`
}

type jdkAdd struct {
	coordinatorFlags
	entryFlags
	Name   string `arg:"" help:"Name for campaigns and recipes, e.g. jdk17; with --name, the source."`
	Source string `arg:"" optional:"" help:"What to import: ${sources}. With --coordinator it may be left out for a build of this machine's own catalogue."`
	As     string `name:"name" help:"Name, when the only argument is the source." placeholder:"NAME"`
	SHA256 string `name:"sha256" help:"SHA-256 that the archive must have (64 hex digits)." placeholder:"HEX"`
	JSON   bool   `help:"Print the entry."`
}

// names returns the name and the source, which is empty for a build of this machine's own catalogue.
func (c *jdkAdd) names() (name, source string, err error) {
	switch {
	case c.As != "" && c.Source != "":
		return "", "", fmt.Errorf("two names: %s and --name %s; give `misstep jdk add NAME SOURCE` or `misstep jdk add SOURCE "+
			"--name NAME`", c.Name, c.As)
	case c.As != "":
		return c.As, c.Name, nil
	case c.Source == "" && !c.shared():
		return "", "", fmt.Errorf("no source for %s; want %s", c.Name, jdk.SourceForms)
	}
	return c.Name, c.Source, nil
}

// Run imports.
func (c *jdkAdd) Run(ctx context.Context, e *env) error {
	name, source, err := c.names()
	if err != nil {
		return err
	}
	if err := c.check(c.shared()); err != nil {
		return err
	}
	if c.shared() {
		st, err := c.open(e)
		if err != nil {
			return err
		}
		defer st.Close()
		added, err := catalogues.AddJDK(ctx, e.installation(), st, name, source, c.SHA256, c.options(e))
		if err != nil {
			return err
		}
		return printAdded(e, []*misstepv1.AddCatalogueEntryResponse{added}, c.JSON)
	}
	entry, err := e.installation().JDKs().Add(ctx, name, source, jdk.AddOptions{
		SHA256:   c.SHA256,
		Progress: importProgress(e),
	})
	if err != nil {
		return err
	}
	return printJDK(e, entry, c.JSON)
}

// importProgress prints each step of a long import once, and every further tenth of one whose size is known.
func importProgress(e *env) jdk.Progress {
	var last string
	return func(step string, done, total int64) {
		line := step
		if total > 0 {
			line = fmt.Sprintf("%s: %d %%", step, done*10/total*10)
		}
		if line != last {
			last = line
			e.say("%s", line)
		}
	}
}

type jdkList struct {
	coordinatorFlags
	selectionFlags
}

// Run lists.
func (c *jdkList) Run(ctx context.Context, e *env) error {
	if err := c.check(c.shared()); err != nil {
		return err
	}
	if c.shared() {
		return listShared(ctx, e, c.coordinatorFlags, kindJDK, c.selectionFlags)
	}
	entries, err := e.installation().JDKs().List()
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(entries)
	}
	t := table(e.stdout)
	fmt.Fprintln(t, "name\tfeature\tvendor\tdigest\tsource")
	for _, entry := range entries {
		fmt.Fprintf(t, "%s\t%d\t%s\t%.19s…\t%s\n", entry.Name, entry.Feature, entry.Vendor, entry.Digest, entry.Source)
	}
	return t.Flush()
}

type jdkShow struct {
	Name string `arg:"" help:"Name of the JDK build."`
	JSON bool   `help:"Print the entry."`
}

// Run shows one.
func (c *jdkShow) Run(e *env) error {
	entry, err := e.installation().JDKs().Get(c.Name)
	if err != nil {
		return err
	}
	return printJDK(e, entry, c.JSON)
}

func printJDK(e *env, entry jdk.Entry, asJSON bool) error {
	if asJSON {
		return e.json(entry)
	}
	_, err := fmt.Fprintf(e.stdout, "%s: feature %d, %s\n  %s\n  digest %s\n  from %s\n  in %s\n",
		entry.Name, entry.Feature, entry.Vendor, entry.Version, entry.Digest, entry.Source, entry.Path)
	return err
}

type jdkRm struct {
	coordinatorFlags
	Name string `arg:"" help:"Name of the JDK build."`
}

// Run forgets one.
func (c *jdkRm) Run(ctx context.Context, e *env) error {
	if c.shared() {
		return removeShared(ctx, e, c.coordinatorFlags, kindJDK, c.Name)
	}
	return e.installation().JDKs().Remove(c.Name)
}
