package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"misstep/deploy/nomad"
)

// secrets are the items that a job needs of its Nomad variable.
type secrets struct {
	job string
	// environment are those that become variables of the task's environment: another value restarts it.
	environment, files []string
}

func (s secrets) path() string { return nomad.VariablePath(s.job) }

func (s secrets) items() []string { return slices.Concat(s.environment, s.files) }

// secrets lists what the fleet's jobs need.
func (c *Cluster) secrets() []secrets {
	coordinators, transport := c.Fleet.GetCoordinators(), nomad.TransportFiles(c.Fleet)
	all := []secrets{{
		nomad.CoordinatorJob(c.Fleet), coordinators.GetSecrets(), slices.Concat(coordinators.GetSecretFiles(), transport),
	}}
	for _, g := range c.Fleet.GetRunners() {
		files := slices.Concat(g.GetSecretFiles(), transport)
		all = append(all, secrets{nomad.RunnerJob(c.Fleet, g.GetName()), g.GetSecrets(), files})
	}
	return slices.DeleteFunc(all, func(s secrets) bool { return len(s.items()) == 0 })
}

// checkSecrets returns an error that names the items of Nomad variables that are missing. Tasks would wait for them silently.
func (c *Cluster) checkSecrets(ctx context.Context) error {
	var errs []error
	for _, s := range c.secrets() {
		variable, _, err := c.client.Variables().Peek(s.path(), query(ctx))
		if forbidden(err) {
			c.Say("the token may not read the variable %s; the jobs need its items %s", s.path(), strings.Join(s.items(), ", "))
			continue
		}
		if err != nil {
			return c.explain("read variable "+s.path(), err)
		}
		var missing []string
		for _, item := range s.items() {
			if variable == nil || variable.Items[item] == "" {
				missing = append(missing, item)
			}
		}
		if len(missing) > 0 {
			errs = append(errs, fmt.Errorf("variable %s has no %s: %s", s.path(), strings.Join(missing, ", "),
				putItems(s.path(), s.items(), missing)))
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

// putSecrets writes the secrets that the fleet's jobs name, and that this process's environment has, to the jobs' Nomad variables.
// Other items stay. It returns when the tasks began that Nomad restarts because of it, by job and allocation.
func (c *Cluster) putSecrets(ctx context.Context) (map[string]map[string]time.Time, error) {
	restart := map[string]map[string]time.Time{}
	for _, s := range c.secrets() {
		variable, _, err := c.client.Variables().Peek(s.path(), query(ctx))
		if err != nil {
			return nil, c.explain("read variable "+s.path(), err)
		}
		if variable == nil {
			variable = api.NewVariable(s.path())
		}
		var changed []string
		for _, item := range s.items() {
			if value := os.Getenv(item); value != "" && value != variable.Items[item] {
				variable.Items[item] = value
				changed = append(changed, item)
			}
		}
		if len(changed) == 0 {
			continue
		}
		if slices.ContainsFunc(changed, func(item string) bool { return slices.Contains(s.environment, item) }) {
			if restart[s.job], err = c.starts(ctx, s.job); err != nil {
				return nil, err
			}
		}
		if _, _, err := c.client.Variables().CheckedUpdate(variable, writes(ctx)); err != nil {
			return nil, c.explain("write variable "+s.path(), err)
		}
		c.Say("wrote variable %s", s.path())
	}
	return restart, nil
}
