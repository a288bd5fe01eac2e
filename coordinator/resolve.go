package coordinator

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/coordinator/campaign"
	"misstep/coordinator/catalogue"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// resolve takes the names that a submission does not resolve from the shared catalogue, and makes sure that the campaign can be
// expanded. used are the entries that gave a name.
func resolve(tx store.Tx, req *misstepv1.SubmitCampaignRequest) (
	full *misstepv1.SubmitCampaignRequest, used []*misstepv1.CatalogueEntry, expansion *campaign.Expansion, err error,
) {
	full = req
	if catalogue.Unresolved(req) {
		entries, err := tx.CatalogueEntries(misstepv1.CatalogueKind_CATALOGUE_KIND_UNSPECIFIED)
		if err != nil {
			return nil, nil, nil, err
		}
		resolved, of, wrong := catalogue.Resolve(req, entries)
		if err := violated(wrong); err != nil {
			return nil, nil, nil, status.Error(codes.InvalidArgument, err.Error())
		}
		full, used = resolved, of
	}
	if expansion, err = campaign.NewExpansion(full); err != nil {
		return nil, nil, nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return full, used, expansion, nil
}

func resolvedNames(used []*misstepv1.CatalogueEntry) []*misstepv1.ResolvedName {
	var names []*misstepv1.ResolvedName
	for _, e := range used {
		names = append(names, &misstepv1.ResolvedName{
			Kind: catalogue.Word(e.GetKind()), Name: e.GetName(), Digest: e.GetDigest(), Owner: e.GetOwner(), Added: e.GetAdded(),
		})
	}
	return names
}

// CheckCampaign implements the CatalogueService.
func (s *Server) CheckCampaign(ctx context.Context, req *misstepv1.CheckCampaignRequest) (*misstepv1.CheckCampaignResponse, error) {
	submission := req.GetSubmission()
	if submission == nil {
		return nil, status.Error(codes.InvalidArgument, "submission: is required")
	}
	if err := checkSubmission(submission, s.config.Strategies); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if _, err := ofProject(ctx, submission.GetCampaign()); err != nil {
		return nil, err
	}
	resp := &misstepv1.CheckCampaignResponse{}
	err := s.read(ctx, func(tx store.Tx, _ time.Time) error {
		_, used, expansion, err := resolve(tx, submission)
		if err != nil {
			return err
		}
		resp.FromCatalogue, resp.Combinations, resp.Skipped = resolvedNames(used), expansion.Size(), expansion.Skipped()
		return nil
	})
	if err != nil {
		return nil, err
	}
	return resp, nil
}
