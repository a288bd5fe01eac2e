package accounts

import (
	"context"
	"crypto/subtle"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/access"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	defaultLifetime = 90 * 24 * time.Hour
	maxLifetime     = 366 * 24 * time.Hour
	minLifetime     = time.Minute
	// keepEnded is how long a token that is not valid any more is listed.
	keepEnded = 90 * 24 * time.Hour
	// maxTokens bounds the valid tokens of one maker.
	maxTokens = 100
)

// CreateToken implements the AccessService.
func (s *Service) CreateToken(
	ctx context.Context, req *misstepv1.CreateTokenRequest,
) (*misstepv1.CreateTokenResponse, error) {
	c := access.From(ctx)
	lifetime, err := s.checkNew(c, req)
	if err != nil {
		return nil, err
	}
	secret, id, err := newSecret(s.config.Rand)
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	now := s.config.Clock()
	token := &misstepv1.Token{
		Id: id, Name: req.GetName(), Grants: req.GetGrants(), MadeBy: c.Name, Made: timestamppb.New(now),
		Expires: timestamppb.New(now.Add(lifetime)),
	}
	err = s.config.Store.Update(ctx, func(tx store.Tx) error {
		all, err := tx.Tokens()
		if err != nil {
			return err
		}
		valid := 0
		for _, t := range all {
			switch {
			case now.Sub(endOf(t.Proto)) > keepEnded:
				if err := tx.DeleteToken(t.Proto.GetId()); err != nil {
					return err
				}
			case t.Proto.GetId() == id:
				return status.Error(codes.Unavailable, "a token has that random id already: call again")
			case t.Proto.GetMadeBy() == c.Name && isValid(t.Proto, now):
				valid++
			}
		}
		if valid >= maxTokens {
			return status.Errorf(codes.ResourceExhausted, "%s has %d valid tokens: revoke some with `misstep token revoke`", c.Name, valid)
		}
		return tx.PutToken(&store.Token{Proto: token, Hash: hashOf(secret)})
	})
	if err != nil {
		return nil, store.Status(err)
	}
	return &misstepv1.CreateTokenResponse{Secret: secret, Token: token}, nil
}

// checkNew returns the lifetime of a token that is to be made, unless it may not.
func (s *Service) checkNew(c *access.Caller, req *misstepv1.CreateTokenRequest) (time.Duration, error) {
	if !names.MatchString(req.GetName()) {
		return 0, status.Errorf(codes.InvalidArgument, "name: expected at most 64 of a-z, 0-9, ., _ and -, beginning with a "+
			"letter or a digit, got %.100q", access.Redact(req.GetName()))
	}
	wanted, err := grants("grants", req.GetGrants())
	if err != nil {
		return 0, err
	}
	lifetime := defaultLifetime
	if req.GetLifetime() != nil {
		if err := req.GetLifetime().CheckValid(); err != nil {
			return 0, status.Errorf(codes.InvalidArgument, "lifetime: %v", err)
		}
		lifetime = req.GetLifetime().AsDuration()
	}
	if lifetime < minLifetime || lifetime > maxLifetime {
		return 0, status.Errorf(codes.InvalidArgument, "lifetime: expected %v to %v, got %v", minLifetime, maxLifetime, lifetime)
	}
	if c.Kind != access.Local && c.Kind != access.Person && !c.May(misstepv1.Role_ROLE_ADMIN, "") {
		return 0, status.Errorf(codes.PermissionDenied, "%s may not make tokens: people do, and admins' tokens", c.Name)
	}
	for _, g := range wanted {
		if !c.May(g.Role, g.Project) {
			return 0, status.Errorf(codes.PermissionDenied, "grants: %s is not %s, so no token of theirs can be", c.Name, g)
		}
	}
	return lifetime, nil
}

// endOf returns when a token ended or ends to be valid.
func endOf(t *misstepv1.Token) time.Time {
	if t.GetRevoked() != nil {
		return t.GetRevoked().AsTime()
	}
	return t.GetExpires().AsTime()
}

func isValid(t *misstepv1.Token, now time.Time) bool {
	return t.GetRevoked() == nil && now.Before(t.GetExpires().AsTime())
}

// nameOf returns the name of the caller that shows a token. The maker is in it, so that nobody gets what belongs to the token of
// somebody else by making one of the same name.
func nameOf(t *misstepv1.Token) string {
	by := t.GetMadeBy()
	if by == access.LocalName {
		by = ""
	}
	return access.TokenName(by, t.GetName())
}

// ListTokens implements the AccessService.
func (s *Service) ListTokens(ctx context.Context, _ *misstepv1.ListTokensRequest) (*misstepv1.ListTokensResponse, error) {
	c := access.From(ctx)
	r := &misstepv1.ListTokensResponse{}
	now := s.config.Clock()
	err := s.config.Store.View(ctx, func(tx store.Tx) error {
		all, err := tx.Tokens()
		r.Tokens = nil
		for _, t := range all {
			if (isAdmin(c) || t.Proto.GetMadeBy() == c.Name) && now.Sub(endOf(t.Proto)) <= keepEnded {
				r.Tokens = append(r.Tokens, t.Proto)
			}
		}
		return err
	})
	return r, store.Status(err)
}

func isAdmin(c *access.Caller) bool { return c.May(misstepv1.Role_ROLE_ADMIN, "") }

// RevokeToken implements the AccessService. Whoever shows a whole token may revoke it.
func (s *Service) RevokeToken(
	ctx context.Context, req *misstepv1.RevokeTokenRequest,
) (*misstepv1.RevokeTokenResponse, error) {
	c := access.From(ctx)
	if (req.GetTokenId() == "") == (req.GetMadeBy() == "") {
		return nil, status.Error(codes.InvalidArgument, "give either token_id or made_by")
	}
	id, whole := idOf(req.GetTokenId())
	if !whole {
		id = req.GetTokenId()
	}
	if req.GetTokenId() != "" && !tokenID.MatchString(id) {
		return nil, status.Error(codes.InvalidArgument, "token_id: expected the 10 characters between misstep_ and the next _, or "+
			"the whole token")
	}
	now := s.config.Clock()
	r := &misstepv1.RevokeTokenResponse{}
	err := s.config.Store.Update(ctx, func(tx store.Tx) error {
		r.Tokens = nil
		chosen, err := s.toRevoke(tx, c, id, req)
		if err != nil {
			return err
		}
		for _, t := range chosen {
			if !isValid(t.Proto, now) {
				continue
			}
			t.Proto.Revoked, t.Proto.RevokedBy = timestamppb.New(now), c.Name
			if err := tx.PutToken(t); err != nil {
				return err
			}
			r.Tokens = append(r.Tokens, t.Proto)
		}
		return nil
	})
	s.forget()
	return r, store.Status(err)
}

// toRevoke returns the tokens that a request names, unless the caller may not revoke them. Whether another's token exists stays
// unsaid.
func (s *Service) toRevoke(
	tx store.Tx, c *access.Caller, id string, req *misstepv1.RevokeTokenRequest,
) ([]*store.Token, error) {
	if req.GetMadeBy() != "" {
		if req.GetMadeBy() != c.Name && !isAdmin(c) {
			return nil, status.Error(codes.PermissionDenied, "made_by: only an admin revokes the tokens of others")
		}
		return validOf(tx, req.GetMadeBy(), s.config.Clock())
	}
	t, err := tx.Token(id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	mine := err == nil && (isAdmin(c) || t.Proto.GetMadeBy() == c.Name ||
		subtle.ConstantTimeCompare(t.Hash, hashOf(req.GetTokenId())) == 1)
	if !mine {
		return nil, status.Errorf(codes.NotFound, "token_id: %s has made no token %s; `misstep token list` shows them", c.Name, id)
	}
	return []*store.Token{t}, nil
}

// validOf returns the valid tokens of a maker.
func validOf(tx store.Tx, maker string, now time.Time) (out []*store.Token, err error) {
	all, err := tx.Tokens()
	for _, t := range all {
		if t.Proto.GetMadeBy() == maker && isValid(t.Proto, now) {
			out = append(out, t)
		}
	}
	return out, err
}
