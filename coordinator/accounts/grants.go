package accounts

import (
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/access"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// maxAccess bounds what is granted in all.
const maxAccess = 10_000

// checkAccess returns an error unless it says completely what is to be granted to whom.
func checkAccess(a *misstepv1.AccessGrant) error {
	if (a.GetPerson() == "") == (a.GetGroup() == "") {
		return status.Error(codes.InvalidArgument, "access: give either person or group")
	}
	if a.GetPerson() != "" {
		if err := checkPerson(a.GetPerson()); err != nil {
			return err
		}
	} else if err := checkName("group", a.GetGroup()); err != nil {
		return err
	}
	_, err := grants("grant", []*misstepv1.Grant{a.GetGrant()})
	return err
}

func sameAccess(a, b *misstepv1.AccessGrant) bool {
	return a.GetPerson() == b.GetPerson() && a.GetGroup() == b.GetGroup() &&
		a.GetGrant().GetProject() == b.GetGrant().GetProject() && a.GetGrant().GetRole() == b.GetGrant().GetRole()
}

// GrantAccess implements the AccessService.
func (s *Service) GrantAccess(
	ctx context.Context, req *misstepv1.GrantAccessRequest,
) (*misstepv1.GrantAccessResponse, error) {
	if err := checkAccess(req.GetAccess()); err != nil {
		return nil, err
	}
	row := &misstepv1.AccessGrant{
		Person: req.GetAccess().GetPerson(), Group: req.GetAccess().GetGroup(), Grant: req.GetAccess().GetGrant(),
		GrantedBy: access.From(ctx).Name, Granted: timestamppb.New(s.config.Clock()),
	}
	r := &misstepv1.GrantAccessResponse{}
	err := s.config.Store.Update(ctx, func(tx store.Tx) error {
		r.Access = row
		all, err := tx.Access()
		if err != nil {
			return err
		}
		for _, a := range all {
			if sameAccess(a, row) {
				r.Access = a
				return nil
			}
		}
		if len(all) >= maxAccess {
			return status.Errorf(codes.ResourceExhausted, "%d grants are kept, which is the most: grant to groups", len(all))
		}
		return tx.PutAccess(row)
	})
	s.forget()
	return r, store.Status(err)
}

// RevokeAccess implements the AccessService.
func (s *Service) RevokeAccess(
	ctx context.Context, req *misstepv1.RevokeAccessRequest,
) (*misstepv1.RevokeAccessResponse, error) {
	wanted := req.GetAccess()
	if err := checkAccess(wanted); err != nil {
		return nil, err
	}
	r := &misstepv1.RevokeAccessResponse{}
	err := s.config.Store.Update(ctx, func(tx store.Tx) error {
		r.Tokens = nil
		all, err := tx.Access()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(a *misstepv1.AccessGrant) bool { return sameAccess(a, wanted) }) {
			return status.Errorf(codes.NotFound, "%s is not granted to %s%s; `misstep access list` shows what is", access.Grant{
				Project: wanted.GetGrant().GetProject(), Role: wanted.GetGrant().GetRole(),
			}, wanted.GetPerson(), wanted.GetGroup())
		}
		if wanted.GetPerson() != "" {
			tokens, err := validOf(tx, wanted.GetPerson(), s.config.Clock())
			if err != nil {
				return err
			}
			for _, t := range tokens {
				r.Tokens = append(r.Tokens, t.Proto)
			}
		}
		return tx.DeleteAccess(wanted)
	})
	s.forget()
	return r, store.Status(err)
}

// ListAccess implements the AccessService.
func (s *Service) ListAccess(ctx context.Context, _ *misstepv1.ListAccessRequest) (*misstepv1.ListAccessResponse, error) {
	r := &misstepv1.ListAccessResponse{}
	err := s.config.Store.View(ctx, func(tx store.Tx) (err error) {
		r.Access, err = tx.Access()
		return err
	})
	return r, store.Status(err)
}

// grantedTo returns what is granted to a person in groups.
func grantedTo(all []*misstepv1.AccessGrant, person string, groups []string) (out []access.Grant) {
	for _, a := range all {
		if a.GetPerson() == person || a.GetPerson() == "" && slices.Contains(groups, a.GetGroup()) {
			out = append(out, access.Grant{Project: a.GetGrant().GetProject(), Role: a.GetGrant().GetRole()})
		}
	}
	return out
}
