// Package accounts keeps who may do what at a coordinator: tokens, what is granted to people and groups, and the audit log.
//
// A Service implements the AccessService, tells callers by their tokens or by the identity tokens of an OpenID provider
// (Authenticate), and records calls (Record). What it reads from the store for each call it remembers for a few seconds, so a
// revocation takes effect at once on the coordinator that made it and within that time on others with the same store.
package accounts

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/coordinator/access"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Config of a Service. Only Store is required.
type Config struct {
	// Store keeps everything; the caller closes it after the last call.
	Store store.Store
	// Clock returns the time; nil is time.Now.
	Clock func() time.Time
	// Rand is the source of ids and secrets; nil is crypto/rand.
	Rand io.Reader
	// Provider is who people log in at; nil lets no people in.
	Provider *Provider
	// Asked means that the coordinator asks who calls.
	Asked bool
	// KeepAudit is how long entries of the audit log are kept; 0 is a year.
	KeepAudit time.Duration
	// Limited is called for each call that is refused since too many bad credentials came from its address, with "credential"; nil
	// counts none.
	Limited func(class string)
	// Logger receives what cannot be recorded; nil discards it.
	Logger *slog.Logger
}

// Service implements the AccessService. It is safe for concurrent use.
type Service struct {
	misstepv1.UnimplementedAccessServiceServer

	config Config

	mu sync.Mutex
	// tokens that were shown lately, by id; guarded by mu.
	tokens map[string]rememberedToken
	// granted is what is granted; guarded by mu.
	granted memo[[]*misstepv1.AccessGrant]
	// named are the people whom what was decided about findings names; guarded by mu.
	named memo[map[string]bool]
	// changes counts what was changed here, so that what was read before is not remembered after; guarded by mu.
	changes uint64

	refused  refusals
	attempts attempts
}

// New returns a service.
func New(c Config) *Service {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.KeepAudit == 0 {
		c.KeepAudit = 365 * 24 * time.Hour
	}
	return &Service{config: c, tokens: map[string]rememberedToken{}}
}

// GetLogin implements the AccessService.
func (s *Service) GetLogin(context.Context, *misstepv1.GetLoginRequest) (*misstepv1.GetLoginResponse, error) {
	r := &misstepv1.GetLoginResponse{Authentication: s.config.Asked}
	if p := s.config.Provider; p != nil {
		r.Issuer, r.ClientId, r.Scopes = p.config.Issuer, p.config.ClientID, p.config.Scopes
	}
	return r, nil
}

// WhoAmI implements the AccessService.
func (s *Service) WhoAmI(ctx context.Context, _ *misstepv1.WhoAmIRequest) (*misstepv1.WhoAmIResponse, error) {
	c := access.From(ctx)
	r := &misstepv1.WhoAmIResponse{Name: c.Name, Kind: c.Kind.String(), Address: c.Address}
	for _, g := range c.Grants {
		r.Grants = append(r.Grants, &misstepv1.Grant{Project: g.Project, Role: g.Role})
	}
	named, err := s.isNamed(ctx, c.Name)
	r.Named = named || err != nil
	return r, nil
}

// names matches names of tokens and projects.
var names = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

const (
	maxName   = 200 // bytes of the name of a person or a group
	maxGrants = 32  // of one token
)

// checkName returns an error unless a name is one that a provider may give to a person or a group.
func checkName(field, name string) error {
	if name == "" || len(name) > maxName || !utf8.ValidString(name) {
		return status.Errorf(codes.InvalidArgument, "%s: expected 1 to %d bytes of UTF-8, got %d", field, maxName, len(name))
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return status.Errorf(codes.InvalidArgument, "%s: %q has a character that cannot be printed", field, name)
		}
	}
	return nil
}

func checkPerson(name string) error {
	if err := checkName("person", name); err != nil {
		return err
	}
	if access.Reserved(name) {
		return status.Errorf(codes.InvalidArgument, "person: %q is no name of a person: no person is called anonymous or "+
			"local, or has a space in the name", name)
	}
	return nil
}

// grants checks and converts what is to be granted.
func grants(field string, all []*misstepv1.Grant) ([]access.Grant, error) {
	if len(all) == 0 || len(all) > maxGrants {
		return nil, status.Errorf(codes.InvalidArgument, "%s: expected 1 to %d grants, got %d", field, maxGrants, len(all))
	}
	var out []access.Grant
	for _, g := range all {
		if !access.Grantable(g.GetRole()) {
			return nil, status.Errorf(codes.InvalidArgument, "%s: %s cannot be granted; expected %s", field,
				access.RoleName(g.GetRole()), strings.Join(access.RoleNames(), ", "))
		}
		if p := g.GetProject(); p != "" && !names.MatchString(p) {
			return nil, status.Errorf(codes.InvalidArgument, "%s: %.100q is no name of a project: expected at most 64 of a-z, "+
				"0-9, ., _ and -, beginning with a letter or a digit", field, p)
		}
		out = append(out, access.Grant{Project: g.GetProject(), Role: g.GetRole()})
	}
	return out, nil
}

func grantsOf(all []*misstepv1.Grant) []access.Grant {
	out := make([]access.Grant, 0, len(all))
	for _, g := range all {
		out = append(out, access.Grant{Project: g.GetProject(), Role: g.GetRole()})
	}
	return out
}
