package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"misstep/app/pki"
)

type pkiCommand struct {
	Init   pkiInit   `cmd:"" help:"Make an authority."`
	Issue  pkiIssue  `cmd:"" help:"Make a key and a certificate for a coordinator or a runner."`
	Revoke pkiRevoke `cmd:"" help:"Revoke certificates: the coordinator whose --tls-crl this is refuses them from its next call on."`
	List   pkiList   `cmd:"" help:"List the certificates."`
}

// pkiFlags choose the authority.
type pkiFlags struct {
	Dir string `help:"Folder of the authority. Whoever can read it can join the fleet." default:"pki" type:"path" placeholder:"DIR"`
}

type pkiInit struct {
	pkiFlags
	Name     string        `help:"Name of the authority, for people." default:"Misstep fleet"`
	Lifetime time.Duration `within:"[1h,)" help:"How long the authority is valid." default:"87600h"`
}

// Run makes an authority.
func (c *pkiInit) Run(ctx context.Context, e *env) error {
	if _, err := pki.Init(ctx, c.Dir, c.Name, c.Lifetime, time.Now); err != nil {
		return err
	}
	_, err := fmt.Fprintf(e.stdout, "%s\n%s\n", filepath.Join(c.Dir, pki.CAFile), filepath.Join(c.Dir, pki.CRLFile))
	return err
}

type pkiIssue struct {
	Coordinator pkiIssueCoordinator `cmd:"" help:"For a coordinator, by the hosts that clients give as --coordinator."`
	Runner      pkiIssueRunner      `cmd:"" help:"For a runner, or all runners of one host."`
}

// issueFlags are what all kinds of certificates have.
type issueFlags struct {
	pkiFlags
	Lifetime time.Duration `within:"[1m,)" help:"How long the certificate is valid." default:"8760h"`
	Out      string        `help:"Folder for tls.crt, tls.key and ca.crt (default: one named after the certificate in --dir)." type:"path" placeholder:"DIR"`
	Renew    bool          `help:"Keep the key that is there, and replace its certificate."`
}

func (f issueFlags) issue(ctx context.Context, e *env, kind pki.Kind, names ...string) error {
	a, err := pki.Open(f.Dir)
	if err != nil {
		return err
	}
	issued, err := a.Issue(ctx, pki.Request{Kind: kind, Names: names, Lifetime: f.Lifetime, Out: f.Out, Renew: f.Renew})
	if err != nil {
		return err
	}
	for _, name := range []string{pki.CertificateFile, pki.KeyFile, pki.CAFile} {
		if _, err := fmt.Fprintln(e.stdout, filepath.Join(issued.Dir, name)); err != nil {
			return err
		}
	}
	e.say("valid until %s", issued.NotAfter.Local().Format(time.DateTime))
	return nil
}

type pkiIssueCoordinator struct {
	issueFlags
	Hosts []string `arg:"" help:"Names and IP addresses of the coordinator, without ports." placeholder:"HOST"`
}

// Run issues.
func (c *pkiIssueCoordinator) Run(ctx context.Context, e *env) error {
	return c.issue(ctx, e, pki.Coordinator, c.Hosts...)
}

type pkiIssueRunner struct {
	issueFlags
	Name string `arg:"" help:"Name of the runner: letters, digits, dots, hyphens and underscores." placeholder:"NAME"`
}

// Run issues.
func (c *pkiIssueRunner) Run(ctx context.Context, e *env) error {
	return c.issue(ctx, e, pki.Runner, c.Name)
}

type pkiRevoke struct {
	pkiFlags
	Which string `arg:"" help:"Serial number of a certificate, or a name: all valid certificates with it." placeholder:"NAME"`
}

// Run revokes.
func (c *pkiRevoke) Run(ctx context.Context, e *env) error {
	a, err := pki.Open(c.Dir)
	if err != nil {
		return err
	}
	done, err := a.Revoke(ctx, c.Which)
	if err != nil {
		return err
	}
	for _, r := range done {
		fmt.Fprintf(e.stdout, "revoked %s (%s %s)\n", r.Serial, r.Kind, strings.Join(r.Names, " "))
	}
	e.say("coordinators read %s: copy it to where their --tls-crl is", filepath.Join(c.Dir, pki.CRLFile))
	return nil
}

type pkiList struct {
	pkiFlags
	JSON bool `help:"Print a list of {serial, kind, names, state, expires, revoked}."`
}

// certificateEntry is a certificate in JSON.
type certificateEntry struct {
	Serial  string    `json:"serial"`
	Kind    string    `json:"kind"`
	Names   []string  `json:"names"`
	State   string    `json:"state"`
	Expires time.Time `json:"expires"`
	Revoked time.Time `json:"revoked,omitzero"`
}

// Run lists.
func (c *pkiList) Run(_ context.Context, e *env) error {
	a, err := pki.Open(c.Dir)
	if err != nil {
		return err
	}
	all, err := a.List()
	if err != nil {
		return err
	}
	now := time.Now()
	if c.JSON {
		list := []certificateEntry{}
		for _, x := range all {
			list = append(list, certificateEntry{x.Serial, string(x.Kind), x.Names, x.State(now), x.Expires, x.Revoked})
		}
		return e.json(list)
	}
	t := table(e.stdout)
	fmt.Fprintln(t, "kind\tnames\tstate\texpires\tserial number")
	for _, x := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", x.Kind, strings.Join(x.Names, " "), x.State(now),
			x.Expires.Local().Format(time.DateTime), x.Serial)
	}
	return t.Flush()
}
