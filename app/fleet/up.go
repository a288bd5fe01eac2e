package fleet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"misstep/deploy/nomad"
)

// Up registers the fleet's jobs, first that of the coordinators, and waits until all of them run healthily. What runs already and
// has not changed stays as it is.
func (c *Cluster) Up(ctx context.Context, digest string) error {
	if err := c.checkArtefact(ctx, digest); err != nil {
		return err
	}
	if err := c.checkSecrets(ctx); err != nil {
		return err
	}
	jobs, before, err := c.renewed(ctx, digest)
	if err != nil {
		return err
	}
	for i, job := range jobs {
		if err := c.register(ctx, job, before[i]); err != nil {
			return err
		}
		if i == 0 { // runners without coordinators would wait anyway, and fail if these cannot be had
			if err := c.settled(ctx, *job.ID); err != nil {
				return err
			}
		}
	}
	for i, job := range jobs[1:] {
		if err := c.settled(ctx, *job.ID); err != nil {
			return err
		}
		if g := c.Fleet.GetRunners()[i]; *job.TaskGroups[0].Count == 0 && nomad.Count(g) > 0 {
			c.Say("group %s: no runners, as scaling or draining chose: `misstep fleet scale` starts some", g.GetName())
		}
	}
	unlisted, err := c.unlisted(ctx)
	if said := Unlisted(unlisted); said != "" {
		c.Say("%s", said)
	}
	return err
}

// secrets lists the items that the fleet's jobs need of their Nomad variables, by path.
func (c *Cluster) secrets() map[string][]string {
	all := map[string][]string{}
	put := func(job string, lists ...[]string) {
		if items := slices.Concat(lists...); len(items) > 0 {
			all[nomad.VariablePath(job)] = items
		}
	}
	coordinators, transport := c.Fleet.GetCoordinators(), nomad.TransportFiles(c.Fleet)
	put(nomad.CoordinatorJob(c.Fleet), coordinators.GetSecrets(), coordinators.GetSecretFiles(), transport)
	for _, g := range c.Fleet.GetRunners() {
		put(nomad.RunnerJob(c.Fleet, g.GetName()), g.GetSecrets(), g.GetSecretFiles(), transport)
	}
	return all
}

// checkSecrets returns an error that names the items of Nomad variables that are missing. Tasks would wait for them silently.
func (c *Cluster) checkSecrets(ctx context.Context) error {
	var errs []error
	needed := c.secrets()
	for _, path := range slices.Sorted(maps.Keys(needed)) {
		variable, _, err := c.client.Variables().Peek(path, query(ctx))
		if forbidden(err) {
			c.Say("the token may not read the variable %s; the jobs need its items %s", path, strings.Join(needed[path], ", "))
			continue
		}
		if err != nil {
			return c.explain("read variable "+path, err)
		}
		var missing []string
		for _, item := range needed[path] {
			if variable == nil || variable.Items[item] == "" {
				missing = append(missing, item)
			}
		}
		if len(missing) > 0 {
			errs = append(errs, fmt.Errorf("variable %s has no %s: %s", path, strings.Join(missing, ", "),
				putItems(path, needed[path], missing)))
		}
	}
	return errors.Join(errs...)
}

// putItems says how missing items get into a variable. Nomad's command writes all items of one; those whose names have a dot are no
// variables of an environment, but files.
func putItems(path string, all, missing []string) string {
	isFile := func(item string) bool { return strings.Contains(item, ".") }
	command := []string{"nomad var put -force -out none", path}
	for _, item := range all {
		value := "=…"
		if isFile(item) {
			value = "=@FILE"
		}
		command = append(command, item+value)
	}
	remedy := "`" + strings.Join(command, " ") + "` writes all of it"
	if missing = slices.DeleteFunc(missing, isFile); len(missing) > 0 {
		remedy += ", `--put-secrets` what the environment has of " + strings.Join(missing, ", ")
	}
	return remedy
}

// PutSecrets writes the secrets that the fleet's jobs name, and that this process's environment has, to the jobs' Nomad variables.
// Other items stay.
func (c *Cluster) PutSecrets(ctx context.Context) error {
	needed := c.secrets()
	for _, path := range slices.Sorted(maps.Keys(needed)) {
		variable, _, err := c.client.Variables().Peek(path, query(ctx))
		if err != nil {
			return c.explain("read variable "+path, err)
		}
		if variable == nil {
			variable = api.NewVariable(path)
		}
		changed := false
		for _, item := range needed[path] {
			if value := os.Getenv(item); value != "" && value != variable.Items[item] {
				variable.Items[item], changed = value, true
			}
		}
		if !changed {
			continue
		}
		if _, _, err := c.client.Variables().CheckedUpdate(variable, writes(ctx)); err != nil {
			return c.explain("write variable "+path, err)
		}
		c.Say("wrote variable %s", path)
	}
	return nil
}
