package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"misstep/app/login"
	"misstep/app/station"
	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

type loginCommand struct{ placeFlags }

// Run logs in.
func (c *loginCommand) Run(ctx context.Context, e *env) error {
	st, err := c.remote(e)
	if err != nil {
		return err
	}
	defer st.Close()
	err = login.Login(ctx, st.Access, c.Coordinator, func(p login.Prompt) {
		e.say("%s names %s as the place to log in, for the client %s.", strings.Join(c.Coordinator, ", "), p.Issuer, p.ClientID)
		e.say("Open %s and enter the code %s", p.URL, p.Code)
		if p.WholeURL != "" {
			e.say("or open %s and compare the code.", p.WholeURL)
		}
	})
	if errors.Is(err, login.ErrNotAsked) {
		e.say("misstep: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	me, err := st.Access.WhoAmI(ctx, &misstepv1.WhoAmIRequest{})
	if err != nil {
		return err
	}
	return renderCaller(e.stdout, me)
}

// remote connects to a coordinator on the network.
func (f placeFlags) remote(e *env) (*station.Station, error) {
	if len(f.Coordinator) == 0 {
		return nil, errors.New("give --coordinator HOST:PORT")
	}
	return f.open(e)
}

func renderCaller(w io.Writer, me *misstepv1.WhoAmIResponse) error {
	_, err := fmt.Fprintf(w, "%s (%s), may: %s\n", plain(me.GetName()), me.GetKind(), grantList(me.GetGrants()))
	if err == nil && len(me.GetGrants()) == 0 {
		_, err = fmt.Fprintf(w, "an admin grants a role with `misstep access grant ROLE %s`\n", plain(me.GetName()))
	}
	return err
}

// grantList is what is granted, in words.
func grantList(grants []*misstepv1.Grant) string {
	var words []string
	for _, g := range grants {
		words = append(words, access.Grant{Project: g.GetProject(), Role: g.GetRole()}.String())
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}

type logoutCommand struct{ placeFlags }

// Run logs out.
func (c *logoutCommand) Run(ctx context.Context, e *env) error {
	if len(c.Coordinator) == 0 {
		return errors.New("give --coordinator HOST:PORT")
	}
	known, err := login.Logout(ctx, c.Coordinator)
	switch {
	case !known && err != nil:
		return err
	case !known:
		e.say("misstep: there is no login at %s", strings.Join(c.Coordinator, ", "))
	case err != nil:
		e.say("misstep: the login is forgotten here, but: %v", err)
	}
	return nil
}

type whoamiCommand struct {
	placeFlags
	JSON bool `help:"Print the caller."`
}

// Run shows.
func (c *whoamiCommand) Run(ctx context.Context, e *env) error {
	st, err := c.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	me, err := st.Access.WhoAmI(ctx, &misstepv1.WhoAmIRequest{})
	if err != nil {
		return err
	}
	if c.JSON {
		return e.json(me)
	}
	return renderCaller(e.stdout, me)
}
