package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"misstep/app/catalogues"
	"misstep/app/local"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/workloads"
)

type workloadCommand struct {
	Add  workloadAdd  `cmd:"" help:"Add a built workload, or Renaissance by its jar."`
	List workloadList `cmd:"" help:"List the workloads."`
	Rm   workloadRm   `cmd:"" help:"Remove a workload; what a coordinator still needs is kept."`
}

type workloadAdd struct {
	coordinatorFlags
	entryFlags
	Source string `arg:"" help:"Folder of a built workload or of several, or the word renaissance (with --jar or --url). With --coordinator it may be the name of a workload of this machine's own catalogue, or renaissance for all benchmarks that it has."`
	Jar    string `help:"Jar of the Renaissance suite." type:"path" placeholder:"PATH" xor:"jar"`
	URL    string `name:"url" help:"Where to fetch Jar of the Renaissance suite." placeholder:"URL" xor:"jar"`
	SHA256 string `name:"sha256" help:"SHA-256 that the jar must have; required with --url." placeholder:"HEX"`
	JDK    string `name:"jdk" help:"JDK of the catalogue that lists the jar's benchmarks (default: the first)." predictor:"jdk" placeholder:"NAME"`
	JSON   bool   `help:"Print the entries."`
}

// Run adds.
func (c *workloadAdd) Run(ctx context.Context, e *env) error {
	if err := c.check(c.shared()); err != nil {
		return err
	}
	if c.shared() {
		return c.share(ctx, e)
	}
	var entries []workloads.Entry
	if c.Source == "renaissance" {
		if c.Jar == "" && c.URL == "" {
			return errors.New("workload add renaissance: name the suite's jar with --jar PATH, or with --url URL --sha256 HEX " +
				"(https://renaissance.dev/download has it); a folder of this name is added as ./renaissance")
		}
		java, err := anyJava(e.installation(), c.JDK)
		if err != nil {
			return err
		}
		if entries, err = e.installation().Workloads().AddRenaissance(ctx, workloads.RenaissanceOptions{
			Jar: c.Jar, URL: c.URL, SHA256: c.SHA256, Java: java,
		}); err != nil {
			return err
		}
	} else {
		if c.Jar != "" || c.URL != "" {
			return errors.New("--jar and --url go with `misstep workload add renaissance`")
		}
		var err error
		if entries, err = e.installation().Workloads().AddAll(ctx, c.Source); err != nil {
			return err
		}
	}
	if c.JSON {
		return e.json(entries)
	}
	for _, entry := range entries {
		fmt.Fprintf(e.stdout, "%s: %s\n", entry.Name, entry.Description)
	}
	return nil
}

// anyJava returns the java command of a JDK of the catalogue.
func anyJava(i local.Installation, name string) (string, error) {
	catalogue := i.JDKs()
	if name != "" {
		entry, err := catalogue.Get(name)
		return filepath.Join(entry.Path, "bin", "java"), err
	}
	entries, err := catalogue.List()
	if err != nil {
		return "", err
	}
	if len(entries) == 0 {
		return "", errors.New("the JDK catalogue is empty; add one with `misstep jdk add NAME SOURCE`")
	}
	return filepath.Join(entries[0].Path, "bin", "java"), nil
}

// share adds to the catalogue of a coordinator.
func (c *workloadAdd) share(ctx context.Context, e *env) error {
	suite := c.Jar != "" || c.URL != ""
	if suite && c.Source != "renaissance" {
		return errors.New("--jar and --url go with `misstep workload add renaissance`")
	}
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	var added []*misstepv1.AddCatalogueEntryResponse
	if suite {
		java, err := anyJava(e.installation(), c.JDK)
		if err != nil {
			return err
		}
		added, err = catalogues.AddRenaissance(ctx, e.installation(), st, workloads.RenaissanceOptions{
			Jar: c.Jar, URL: c.URL, SHA256: c.SHA256, Java: java,
		}, c.options(e))
		if err != nil {
			return err
		}
	} else if added, err = catalogues.AddWorkloads(ctx, e.installation(), st, c.Source, c.options(e)); err != nil {
		return err
	}
	return printAdded(e, added, c.JSON)
}

type workloadRm struct {
	coordinatorFlags
	Name string `arg:"" help:"Name of the workload; on this machine, renaissance removes all its benchmarks."`
}

// Run forgets one.
func (c *workloadRm) Run(ctx context.Context, e *env) error {
	if c.shared() {
		return removeShared(ctx, e, c.coordinatorFlags, kindWorkload, c.Name)
	}
	return e.installation().Workloads().Remove(c.Name)
}

type workloadList struct {
	coordinatorFlags
	selectionFlags
}

// Run lists.
func (c *workloadList) Run(ctx context.Context, e *env) error {
	if err := c.check(c.shared()); err != nil {
		return err
	}
	if c.shared() {
		return listShared(ctx, e, c.coordinatorFlags, kindWorkload, c.selectionFlags)
	}
	entries, err := e.installation().Workloads().List()
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(entries)
	}
	t := table(e.stdout)
	fmt.Fprintln(t, "name\tdigest\tdescription")
	for _, entry := range entries {
		fmt.Fprintf(t, "%s\t%.19s…\t%s\n", entry.Name, entry.Digest.String(), entry.Description)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(entries) == 0 {
		_, err = fmt.Fprintln(e.stderr, "no workloads; add one with `misstep workload add FOLDER`")
	}
	return err
}
