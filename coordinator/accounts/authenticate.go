package accounts

import (
	"context"
	"crypto/subtle"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"misstep/coordinator/access"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

const (
	// remembered is how long what was read from the store is believed.
	remembered = 5 * time.Second
	// maxRemembered bounds the tokens that are remembered.
	maxRemembered = 10_000
	// maxBearer bounds the bytes of a credential; identity tokens with many groups have a few thousand.
	maxBearer = 16 << 10
)

type rememberedToken struct {
	row *store.Token
	at  time.Time
}

// memo is what was read from the store lately; the zero value is nothing.
type memo[T any] struct {
	value T
	at    time.Time
}

// Authenticate is an access.Authenticator for what travels in the header "authorization".
func (s *Service) Authenticate(ctx context.Context) (*access.Caller, error) {
	all := metadata.ValueFromIncomingContext(ctx, "authorization") // all of the metadata would be copied for each call
	if len(all) == 0 {
		return nil, nil
	}
	scheme, credential, _ := strings.Cut(all[0], " ")
	if len(all) > 1 || !strings.EqualFold(scheme, "bearer") || credential == "" || len(credential) > maxBearer {
		return nil, status.Error(codes.Unauthenticated, "the header authorization is malformed: expected one with Bearer TOKEN")
	}
	by := s.byIdentity
	if strings.HasPrefix(credential, access.TokenPrefix) {
		by = s.byToken
	}
	c, err := by(ctx, credential)
	if status.Code(err) == codes.Unauthenticated {
		s.attempts.failed(access.Place(access.Address(ctx)), s.config.Clock())
	}
	return c, err
}

// byToken tells a caller by a token of this coordinator. All tokens that are not valid get one answer, except those that are shown
// whole: whoever has one may know that it expired.
func (s *Service) byToken(ctx context.Context, credential string) (*access.Caller, error) {
	id, ok := idOf(credential)
	if !ok {
		return nil, status.Error(codes.Unauthenticated, "the token is malformed: expected misstep_, 10 characters, _ and "+
			"52 characters, all of 0-9 and a-v; copy it whole")
	}
	row, err := s.token(ctx, id)
	if _, is := status.FromError(err); err != nil && is {
		return nil, err
	}
	if errors.Is(err, store.ErrNotFound) || err == nil && subtle.ConstantTimeCompare(row.Hash, hashOf(credential)) != 1 {
		return nil, status.Error(codes.Unauthenticated, "the token is not valid at this coordinator: make one with "+
			"`misstep token create`")
	}
	if err != nil {
		return nil, store.Status(err)
	}
	now := s.config.Clock()
	switch {
	case row.Proto.GetRevoked() != nil:
		return nil, status.Errorf(codes.Unauthenticated, "token %s was revoked at %s by %s: make another one with `misstep token create`",
			id, row.Proto.GetRevoked().AsTime().Format(time.RFC3339), row.Proto.GetRevokedBy())
	case !isValid(row.Proto, now):
		return nil, status.Errorf(codes.Unauthenticated, "token %s expired at %s: make another one with `misstep token create`", id,
			row.Proto.GetExpires().AsTime().Format(time.RFC3339))
	}
	return &access.Caller{Name: nameOf(row.Proto), Kind: access.Token, Grants: grantsOf(row.Proto.GetGrants())}, nil
}

// byIdentity tells a person by an identity token of the provider.
func (s *Service) byIdentity(ctx context.Context, credential string) (*access.Caller, error) {
	if s.config.Provider == nil {
		return nil, status.Error(codes.Unauthenticated, "the given token does not begin with misstep_, and people cannot log in "+
			"at this coordinator: correct MISSTEP_TOKEN or the file that MISSTEP_TOKEN_FILE names")
	}
	name, groups, err := s.config.Provider.verify(ctx, credential)
	if status.Code(err) == codes.ResourceExhausted {
		s.limited()
	}
	if err != nil {
		return nil, err
	}
	all, err := s.access(ctx)
	if err != nil {
		return nil, store.Status(err)
	}
	return &access.Caller{Name: name, Kind: access.Person, Grants: grantedTo(all, name, groups)}, nil
}

// token returns a token as it was at most a few seconds ago. Ids that do not exist are not remembered: callers choose them. The
// error may be a gRPC status.
func (s *Service) token(ctx context.Context, id string) (*store.Token, error) {
	now := s.config.Clock()
	s.mu.Lock()
	known, ok := s.tokens[id]
	changes := s.changes
	s.mu.Unlock()
	if ok && fresh(known.at, now) {
		return known.row, nil
	}
	place := access.Place(access.Address(ctx))
	if wait := s.attempts.wait(place, now); wait > 0 && !ok {
		switch exists, err := s.exists(ctx, id); {
		case err != nil:
			return nil, err
		case !exists:
			return nil, s.unread(place, wait)
		}
	}
	var row *store.Token
	err := s.config.Store.View(ctx, func(tx store.Tx) (err error) {
		row, err = tx.Token(id)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changes == changes {
		if len(s.tokens) >= maxRemembered {
			clear(s.tokens)
		}
		s.tokens[id] = rememberedToken{row, now}
	}
	return row, nil
}

// access returns what is granted as it was at most a few seconds ago.
func (s *Service) access(ctx context.Context) ([]*misstepv1.AccessGrant, error) {
	return recall(ctx, s, &s.granted, store.Tx.Access)
}

// isNamed reports whether what is decided about the visibility of a finding, in any project, names somebody. It may be a few
// seconds old.
func (s *Service) isNamed(ctx context.Context, name string) (bool, error) {
	people, err := recall(ctx, s, &s.named, func(tx store.Tx) (map[string]bool, error) {
		people := map[string]bool{}
		all, err := tx.Visibilities()
		for _, v := range all {
			for _, p := range v.GetPeople() {
				people[p] = true
			}
		}
		return people, err
	})
	return people[name], err
}

// recall returns what is read from the store as it was at most a few seconds ago. known is guarded by s.mu.
func recall[T any](ctx context.Context, s *Service, known *memo[T], read func(store.Tx) (T, error)) (T, error) {
	now := s.config.Clock()
	s.mu.Lock()
	last, changes := *known, s.changes
	s.mu.Unlock()
	if fresh(last.at, now) {
		return last.value, nil
	}
	var value T
	err := s.config.Store.View(ctx, func(tx store.Tx) (err error) {
		value, err = read(tx)
		return err
	})
	if err != nil {
		return value, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changes == changes {
		*known = memo[T]{value, now}
	}
	return value, nil
}

// fresh reports whether what was read at a time may be believed now; not after the clock was set back.
func fresh(at, now time.Time) bool {
	age := now.Sub(at)
	return !at.IsZero() && age >= 0 && age < remembered
}

// forget makes the next calls read the store.
func (s *Service) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	clear(s.tokens)
	s.granted = memo[[]*misstepv1.AccessGrant]{}
}
