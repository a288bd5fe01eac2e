package fleet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"misstep/deploy/nomad"
)

// unlisted returns the ids of the fleet's jobs that Nomad has and the fleet file has not: those of groups that were removed from it
// or have another name there now. Nothing but `down` changes them: the file may be an old one.
func (c *Cluster) unlisted(ctx context.Context) (ids []string, err error) {
	q := query(ctx)
	q.Prefix = c.Fleet.GetName() + "-"
	all, _, err := c.client.Jobs().List(q)
	if forbidden(err) {
		c.Say("the token may not list jobs: whether the fleet has some that its file lacks is not known")
		return nil, nil
	}
	if err != nil {
		return nil, c.explain("list jobs", err)
	}
	listed := nomad.Jobs(c.Fleet, "")
	for _, stub := range all {
		same := func(j *api.Job) bool { return *j.ID == stub.ID }
		if stub.Type != api.JobTypeService || stub.Stop || slices.ContainsFunc(listed, same) {
			continue
		}
		job, _, err := c.client.Jobs().Info(stub.ID, query(ctx))
		if notFound(err) {
			continue
		}
		if err != nil {
			return nil, c.explain("ask for job "+stub.ID, err)
		}
		if job.Meta[nomad.MetaFleet] == c.Fleet.GetName() { // not another fleet's, whose name begins like this one's
			ids = append(ids, stub.ID)
		}
	}
	return ids, nil
}

// Unlisted says which of the fleet's jobs the fleet file does not have, empty if there are none.
func Unlisted(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return fmt.Sprintf("not in the fleet file, but running: %s; `nomad job stop` ends a job after its runners' drain, "+
		"`misstep fleet down` all of them", strings.Join(ids, ", "))
}
