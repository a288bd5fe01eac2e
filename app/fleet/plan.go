package fleet

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/hashicorp/nomad/api"

	"misstep/app/local"
	"misstep/deploy/nomad"
	misstepv1 "misstep/proto/misstep/v1"
)

var digestRE = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Digest returns the digest of the package that the fleet's nodes are to run: the given one, else that of this installation.
func Digest(f *misstepv1.Fleet, i local.Installation, given string) (string, error) {
	switch {
	case given != "" && !digestRE.MatchString(given):
		return "", fmt.Errorf("package %.100q: expected sha256: and 64 hexadecimal digits, as `misstep fleet package` prints them", given)
	case given != "" || f.GetArtefacts().GetPath() != "":
		return given, nil
	}
	return Pack(i, io.Discard)
}

// Plan says what `up` with the package would change, a paragraph for each job, by Nomad's own plan. Nothing is changed.
func (c *Cluster) Plan(ctx context.Context, digest string) (string, error) {
	var text strings.Builder
	jobs, before, err := c.renewed(ctx, digest)
	if err != nil {
		return "", err
	}
	other, err := c.otherPackages(ctx, jobs, before)
	if err != nil {
		return "", err
	}
	for _, job := range jobs {
		p, err := c.plan(ctx, job)
		if err != nil {
			return "", err
		}
		text.WriteString(nomad.Changes(p))
	}
	for _, line := range other {
		text.WriteString("! " + line + ": only `misstep fleet upgrade` replaces the package of a fleet that runs\n")
	}
	text.WriteString(Warnings(c.Fleet))
	unlisted, err := c.unlisted(ctx)
	if err != nil {
		return "", err
	}
	if said := Unlisted(unlisted); said != "" {
		text.WriteString("! " + said + "\n")
	}
	return text.String(), nil
}

// plan asks Nomad what registering a job would change. Nomad names the constraint that keeps a node out once; when it has met the
// node where the job runs now, the reason is already gone. As a new job it has none such.
func (c *Cluster) plan(ctx context.Context, job *api.Job) (*api.JobPlanResponse, error) {
	p, _, err := c.client.Jobs().Plan(job, true, writes(ctx))
	if err != nil || !nomad.Unnamed(p) {
		return p, c.explain("plan job "+*job.ID, err)
	}
	fresh := *job
	fresh.ID = new(*job.ID + "-new")
	named, _, err := c.client.Jobs().Plan(&fresh, false, writes(ctx))
	if err != nil {
		return nil, c.explain("plan job "+*fresh.ID, err)
	}
	for group, m := range named.FailedTGAllocs {
		if p.FailedTGAllocs[group] != nil {
			p.FailedTGAllocs[group].ConstraintFiltered = m.ConstraintFiltered
		}
	}
	return p, nil
}

// Warnings says what the cluster must allow and its API does not show, a line each.
func Warnings(f *misstepv1.Fleet) (text string) {
	for _, g := range f.GetRunners() {
		if kill := nomad.KillTimeout(g); kill > nomad.MaxKillTimeout {
			text += fmt.Sprintf("! group %s: drain %v needs max_kill_timeout = %q or more in the configuration of its nodes' "+
				"clients, whose default is %v\n", g.GetName(), nomad.Drain(g), kill, nomad.MaxKillTimeout)
		}
	}
	return text
}
