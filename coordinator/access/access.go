// Package access says who calls a coordinator and what they may do. Each call of each service names its role in the proto
// (option misstep.v1.role); ServerOptions enforces that.
package access

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	misstepv1 "misstep/proto/misstep/v1"
)

// Kind is by what kind of credential a caller is known.
type Kind int

// The kinds of credentials.
const (
	// KindUnspecified is of callers of what anyone may call.
	KindUnspecified Kind = iota
	// Local is no credential: this process, or anybody where a coordinator does not authenticate.
	Local
	// Person is an identity of an OpenID provider.
	Person
	// Token is a token that the coordinator made.
	Token
	// Runner is the certificate of a runner.
	Runner
)

// String returns the word for people.
func (k Kind) String() string {
	switch k {
	case Local:
		return "local"
	case Person:
		return "person"
	case Token:
		return "token"
	case Runner:
		return "runner"
	}
	return "unspecified"
}

// Caller is who makes a call. It is not changed once it is in a context.
type Caller struct {
	// Name is stable, for owners, quotas and the audit log: "anna@example.org", "token anna@example.org/ci", "runner a1". Names of
	// people have no space, so they differ from all others.
	Name string
	// Kind of its credential.
	Kind Kind
	// Grants are what it may do.
	Grants []Grant
	// Address of the peer, host and port.
	Address string
}

// Grant is a role in one project; project "" is every project.
type Grant struct {
	Project string
	Role    misstepv1.Role
}

// Authenticator tells who makes a call from its context (metadata, peer); nil, nil when its kind of credential is not there. The
// error is a gRPC status, or else it becomes UNAUTHENTICATED; its text goes to the caller and never holds a secret.
type Authenticator func(ctx context.Context) (*Caller, error)

// Names that no person may have: of callers whom nobody knows, and of those without a credential.
const (
	Anonymous = "anonymous"
	LocalName = "local"
)

// Reserved reports whether a name is none that a person may have: names of other kinds of callers are these, or have a space.
func Reserved(name string) bool {
	return name == Anonymous || name == LocalName || strings.ContainsFunc(name, unicode.IsSpace)
}

type key struct{}

// With returns a context of a call made by c.
func With(ctx context.Context, c *Caller) context.Context { return context.WithValue(ctx, key{}, c) }

// everything is what a local caller may do.
var everything = []Grant{{Role: misstepv1.Role_ROLE_ADMIN}}

// From returns who makes a call. Without a caller in the context it is this process itself, a Local caller with admin everywhere:
// nothing that came over a connection lacks one, see ServerOptions.
func From(ctx context.Context) *Caller {
	if c, ok := ctx.Value(key{}).(*Caller); ok {
		return c
	}
	return &Caller{Name: LocalName, Kind: Local, Grants: everything}
}

// May reports whether the caller has a role in a project; in every project for project "".
func (c *Caller) May(role misstepv1.Role, project string) bool {
	for _, g := range c.Grants {
		if (g.Project == "" || g.Project == project) && Includes(g.Role, role) {
			return true
		}
	}
	return false
}

// Includes reports whether whoever has one role may do what another one may.
func Includes(has, needed misstepv1.Role) bool {
	switch {
	case !Grantable(has):
		return false
	case has == needed, has == misstepv1.Role_ROLE_ADMIN:
		return Grantable(needed)
	}
	return needed == misstepv1.Role_ROLE_VIEWER &&
		(has == misstepv1.Role_ROLE_HUNTER || has == misstepv1.Role_ROLE_TRIAGER)
}

// Grantable reports whether a role can be granted; others stand at calls only.
func Grantable(role misstepv1.Role) bool {
	return role >= misstepv1.Role_ROLE_VIEWER && role <= misstepv1.Role_ROLE_ADMIN
}

// RoleName is a role as the command line and people write it, such as "hunter".
func RoleName(role misstepv1.Role) string {
	return strings.ToLower(strings.TrimPrefix(role.String(), "ROLE_"))
}

// String is a grant as people write it: "hunter", or "hunter in nightly".
func (g Grant) String() string {
	if g.Project == "" {
		return RoleName(g.Role)
	}
	return RoleName(g.Role) + " in " + g.Project
}

// RoleNames are the names of the roles that can be granted.
func RoleNames() (names []string) {
	for r := misstepv1.Role_ROLE_VIEWER; Grantable(r); r++ {
		names = append(names, RoleName(r))
	}
	return names
}

// ParseRole returns the role with a name as RoleName writes it; the error lists those that can be granted.
func ParseRole(name string) (misstepv1.Role, error) {
	r := misstepv1.Role(misstepv1.Role_value["ROLE_"+strings.ToUpper(name)])
	if !Grantable(r) || RoleName(r) != name {
		return 0, fmt.Errorf("role %q: expected %s", name, strings.Join(RoleNames(), ", "))
	}
	return r, nil
}
