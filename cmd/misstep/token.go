package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/app/station"
	"misstep/coordinator/access"
	"misstep/coordinator/store/stores"
	misstepv1 "misstep/proto/misstep/v1"
)

// accountsFlags choose the coordinator, or the store of one, whose tokens and grants a command works on.
type accountsFlags struct {
	placeFlags
	Store string `help:"Store of a coordinator, opened directly, e.g. postgres://USER@HOST/DATABASE." placeholder:"URL" xor:"coordinator"`
}

// open connects; done ends that. Whoever can open a folder or a store is its master: so the first admin gets in. With create it is
// made if there is none.
func (f accountsFlags) open(ctx context.Context, e *env, create bool) (misstepv1.AccessServiceClient, func(), error) {
	if len(f.Coordinator) > 0 {
		st, err := f.placeFlags.open(e)
		if err != nil {
			return nil, nil, err
		}
		return st.Access, st.Close, nil
	}
	url := cmp.Or(f.Store, f.Dir)
	if url == "" {
		return nil, nil, errors.New("give --coordinator HOST:PORT, --dir DIR or --store URL")
	}
	if elsewhere := station.StoreElsewhere(f.Dir); f.Dir != "" && elsewhere != "" {
		return nil, nil, fmt.Errorf("the store of %s is %s: give it with --store", f.Dir, elsewhere)
	}
	if !create {
		if err := stores.Exists(url); err != nil {
			return nil, nil, err
		}
	}
	return station.OpenAccess(ctx, url, e.warnings())
}

// roleFlags are what is granted.
type roleFlags struct {
	Project []string `help:"Project in which the roles are granted; may be repeated (default: every project)." placeholder:"PROJECT"`
}

// grants returns each role in each project.
func (f roleFlags) grants(roles ...string) ([]*misstepv1.Grant, error) {
	var out []*misstepv1.Grant
	projects := f.Project
	if len(projects) == 0 {
		projects = []string{""}
	}
	for _, name := range roles {
		role, err := access.ParseRole(name)
		if err != nil {
			return nil, err
		}
		for _, p := range projects {
			out = append(out, &misstepv1.Grant{Project: p, Role: role})
		}
	}
	return out, nil
}

type tokenCommand struct {
	Create tokenCreate `cmd:"" help:"Make a token and print it: the only time that it is shown."`
	List   tokenList   `cmd:"" default:"withargs" help:"List the tokens that you made; an admin sees all."`
	Revoke tokenRevoke `cmd:"" help:"Revoke tokens."`
}

type tokenCreate struct {
	accountsFlags
	Name string   `arg:"" help:"Name for people, e.g. ci."`
	Role []string `help:"Role of the token: ${roles}; may be repeated." required:"" placeholder:"ROLE"`
	roleFlags
	Lifetime time.Duration `within:"[1m,8784h]" help:"How long it is valid." default:"2160h" placeholder:"TIME"`
	JSON     bool          `help:"Print {secret, token}."`
}

// Run makes a token.
func (c *tokenCreate) Run(ctx context.Context, e *env) error {
	grants, err := c.grants(c.Role...)
	if err != nil {
		return err
	}
	api, done, err := c.open(ctx, e, true)
	if err != nil {
		return err
	}
	defer done()
	r, err := api.CreateToken(ctx, &misstepv1.CreateTokenRequest{
		Name: c.Name, Grants: grants, Lifetime: durationpb.New(c.Lifetime),
	})
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(r)
	}
	e.say("token %s (%s), may: %s; valid until %s. Keep it secret: whoever has it may do so.", r.GetToken().GetName(),
		r.GetToken().GetId(), grantList(r.GetToken().GetGrants()), r.GetToken().GetExpires().AsTime().Local().Format(time.RFC3339))
	_, err = fmt.Fprintln(e.stdout, r.GetSecret())
	return err
}

type tokenList struct {
	accountsFlags
	JSON bool `help:"Print a list of tokens."`
}

// Run lists.
func (c *tokenList) Run(ctx context.Context, e *env) error {
	api, done, err := c.open(ctx, e, false)
	if err != nil {
		return err
	}
	defer done()
	r, err := api.ListTokens(ctx, &misstepv1.ListTokensRequest{})
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(raws(r.GetTokens()))
	}
	t := table(e.stdout)
	fmt.Fprintln(t, "token\tname\tmade by\tmay\tstate")
	for _, token := range r.GetTokens() {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", token.GetId(), token.GetName(), plain(token.GetMadeBy()),
			grantList(token.GetGrants()), tokenState(token, time.Now()))
	}
	return t.Flush()
}

func tokenState(t *misstepv1.Token, now time.Time) string {
	day := func(at time.Time) string { return at.Local().Format(time.DateOnly) }
	switch expires := t.GetExpires().AsTime(); {
	case t.GetRevoked() != nil:
		return "revoked " + day(t.GetRevoked().AsTime()) + " by " + plain(t.GetRevokedBy())
	case !now.Before(expires):
		return "expired " + day(expires)
	default:
		return "valid until " + day(expires)
	}
}

type tokenRevoke struct {
	accountsFlags
	IDs    []string `arg:"" name:"id" optional:"" help:"Ids of tokens, the part between misstep_ and the next _."`
	MadeBy string   `help:"Revoke all valid tokens that this caller made, e.g. anna@example.org." placeholder:"NAME"`
}

// Run revokes.
func (c *tokenRevoke) Run(ctx context.Context, e *env) error {
	if (len(c.IDs) == 0) == (c.MadeBy == "") {
		return errors.New("give the IDs of tokens, or --made-by NAME")
	}
	api, done, err := c.open(ctx, e, false)
	if err != nil {
		return err
	}
	defer done()
	requests := []*misstepv1.RevokeTokenRequest{{MadeBy: c.MadeBy}}
	if c.MadeBy == "" {
		requests = nil
	}
	for _, id := range c.IDs {
		requests = append(requests, &misstepv1.RevokeTokenRequest{TokenId: id})
	}
	for _, request := range requests {
		r, err := api.RevokeToken(ctx, request)
		if err != nil {
			return err
		}
		for _, t := range r.GetTokens() {
			_, err := fmt.Fprintf(e.stdout, "revoked token %s (%s) of %s\n", t.GetName(), t.GetId(), plain(t.GetMadeBy()))
			if err != nil {
				return err
			}
		}
		if len(r.GetTokens()) == 0 {
			e.say("misstep: it was not valid any more")
		}
	}
	return nil
}

// plain returns a string that others chose without what would control a terminal.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}
