package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

type accessCommand struct {
	Grant  accessGrant  `cmd:"" help:"Grant a role to a person or to a group."`
	Revoke accessRevoke `cmd:"" help:"Take a role back."`
	List   accessList   `cmd:"" default:"withargs" help:"List what is granted."`
}

// granted is what a command grants or takes back.
type granted struct {
	accountsFlags
	Role   string `arg:"" help:"Role: ${roles}."`
	Person string `arg:"" optional:"" help:"Name of a person as misstep whoami shows it, e.g. anna@example.org."`
	Group  string `help:"Group of the OpenID provider, instead of a person." placeholder:"GROUP"`
	roleFlags
}

// change makes a change of what is granted.
type change func(misstepv1.AccessServiceClient, *misstepv1.AccessGrant) error

// each calls f for the role in each project.
func (g granted) each(ctx context.Context, e *env, create bool, f change) error {
	if (g.Person == "") == (g.Group == "") {
		return errors.New("give either a PERSON or --group GROUP")
	}
	grants, err := g.grants(g.Role)
	if err != nil {
		return err
	}
	api, done, err := g.open(ctx, e, create)
	if err != nil {
		return err
	}
	defer done()
	for _, grant := range grants {
		if err := f(api, &misstepv1.AccessGrant{Person: g.Person, Group: g.Group, Grant: grant}); err != nil {
			return err
		}
	}
	return nil
}

type accessGrant struct{ granted }

// Run grants.
func (c *accessGrant) Run(ctx context.Context, e *env) error {
	return c.each(ctx, e, true, func(api misstepv1.AccessServiceClient, a *misstepv1.AccessGrant) error {
		_, err := api.GrantAccess(ctx, &misstepv1.GrantAccessRequest{Access: a})
		if err == nil {
			e.say("misstep: %s is granted to %s", grantList([]*misstepv1.Grant{a.GetGrant()}), grantee(a))
		}
		return err
	})
}

type accessRevoke struct{ granted }

// Run takes back.
func (c *accessRevoke) Run(ctx context.Context, e *env) error {
	valid := 0
	err := c.each(ctx, e, false, func(api misstepv1.AccessServiceClient, a *misstepv1.AccessGrant) error {
		r, err := api.RevokeAccess(ctx, &misstepv1.RevokeAccessRequest{Access: a})
		if err == nil {
			e.say("misstep: %s is not granted to %s any more", grantList([]*misstepv1.Grant{a.GetGrant()}), grantee(a))
		}
		valid = len(r.GetTokens())
		return err
	})
	if valid > 0 {
		e.say("misstep: %d tokens that %s made are still valid; `misstep token revoke --made-by %s` ends them", valid, c.Person, c.Person)
	}
	return err
}

// grantee is whom a role is granted to.
func grantee(a *misstepv1.AccessGrant) string {
	if a.GetGroup() != "" {
		return "group " + plain(a.GetGroup())
	}
	return plain(a.GetPerson())
}

type accessList struct {
	accountsFlags
	JSON bool `help:"Print a list of grants."`
}

// Run lists.
func (c *accessList) Run(ctx context.Context, e *env) error {
	api, done, err := c.open(ctx, e, false)
	if err != nil {
		return err
	}
	defer done()
	r, err := api.ListAccess(ctx, &misstepv1.ListAccessRequest{})
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(raws(r.GetAccess()))
	}
	t := table(e.stdout)
	fmt.Fprintln(t, "who\trole\tproject\tgranted by\ton")
	for _, a := range r.GetAccess() {
		project := a.GetGrant().GetProject()
		if project == "" {
			project = "every"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", grantee(a), access.RoleName(a.GetGrant().GetRole()), project,
			plain(a.GetGrantedBy()), a.GetGranted().AsTime().Local().Format(time.DateOnly))
	}
	return t.Flush()
}
