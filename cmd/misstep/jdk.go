package main

import (
	"context"
	"fmt"

	"misstep/deploy/jdk"
)

type jdkCommand struct {
	Add  jdkAdd  `cmd:"" help:"Import a JDK build under a name."`
	List jdkList `cmd:"" help:"List the JDK builds."`
	Show jdkShow `cmd:"" help:"Show one JDK build."`
	Rm   jdkRm   `cmd:"" help:"Remove a JDK build; a folder that was only referenced is kept."`
}

type jdkAdd struct {
	Name   string `arg:"" help:"Name for campaigns and recipes, e.g. jdk17."`
	Source string `arg:"" help:"What to import: ${sources}."`
	SHA256 string `name:"sha256" help:"SHA-256 that the archive must have (64 hex digits)." placeholder:"HEX"`
	JSON   bool   `help:"Print the entry."`
}

// Run imports.
func (c *jdkAdd) Run(ctx context.Context, e *env) error {
	entry, err := e.installation().JDKs().Add(ctx, c.Name, c.Source, jdk.AddOptions{
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
	JSON bool `help:"Print a list of entries."`
}

// Run lists.
func (c *jdkList) Run(e *env) error {
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
	Name string `arg:"" help:"Name of the JDK build."`
}

// Run forgets one.
func (c *jdkRm) Run(e *env) error { return e.installation().JDKs().Remove(c.Name) }
