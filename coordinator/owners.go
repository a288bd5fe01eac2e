package coordinator

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/access"
	"misstep/coordinator/projects"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// ofProject returns a campaign with the project of the call, which is the only one that it may name.
func ofProject(ctx context.Context, c *misstepv1.Campaign) (*misstepv1.Campaign, error) {
	project := access.Project(ctx)
	switch named := c.GetProject(); {
	case named == project, named == "" && project == projects.Default:
		return c, nil
	case named != "":
		return nil, status.Errorf(codes.InvalidArgument, "project: the campaign is of %s, the call is in %s: give --project %s, "+
			"or leave the field out", named, project, named)
	}
	c = proto.CloneOf(c)
	c.Project = project
	return c, nil
}

// ownCampaign returns the campaign with that id or prefix if the caller may change it: its owner, or an admin of its project.
func ownCampaign(ctx context.Context, tx store.Tx, id string) (*store.Campaign, error) {
	c, err := findCampaign(tx, id)
	if err != nil {
		return nil, err
	}
	caller := access.From(ctx)
	if c.Owner != "" && caller.Name == c.Owner || caller.May(misstepv1.Role_ROLE_ADMIN, access.Project(ctx)) {
		return c, nil
	}
	owner := c.Owner
	if owner == "" {
		owner = "nobody in particular"
	}
	return nil, status.Errorf(codes.PermissionDenied, "campaign %s belongs to %s: ask them or an administrator", c.ID, owner)
}
