package web

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	misstepv1 "misstep/proto/misstep/v1"
)

// action is what a form asks for; it returns the page to show then.
type action func(ctx context.Context, r *http.Request) (to string, err error)

// act carries out an action for a form of this site, and shows the page that it leads to. Who may do it is decided by the
// coordinator.
func (s *Site) act(do action) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visitOf(r.Context())
		if !s.Asks && !s.Writable {
			s.fail(w, r, status.Error(codes.PermissionDenied,
				"these pages change nothing: start them with --web-writable, or use the command line"))
			return
		}
		if !genuine(r) {
			s.fail(w, r, errForeignForm)
			return
		}
		to, err := do(r.Context(), r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		s.changes.made.Add(1)
		s.texts.forget()
		http.Redirect(w, r, v.prefix+to, http.StatusSeeOther)
	})
}

// may reports whether pages show a visitor the forms that need a role.
func (v *visit) may(role misstepv1.Role) bool { return v.csrf != "" && v.caller.May(role, v.project) }

func (s *Site) merge(ctx context.Context, r *http.Request) (string, error) {
	done, err := s.admin.MergeFindings(ctx, &misstepv1.MergeFindingsRequest{
		FindingId: r.PathValue("id"), IntoId: strings.TrimSpace(r.PostFormValue("into")), Reason: r.PostFormValue("reason"),
	})
	return "/findings/" + done.GetDecision().GetInto(), err
}

func (s *Site) split(ctx context.Context, r *http.Request) (string, error) {
	_, err := s.admin.SplitFinding(ctx, &misstepv1.SplitFindingRequest{
		FindingId: r.PathValue("id"), Reason: r.PostFormValue("reason"),
	})
	return "/findings/" + r.PathValue("id"), err
}

func (s *Site) undo(ctx context.Context, r *http.Request) (string, error) {
	id, err := strconv.ParseUint(r.PathValue("decision"), 10, 64)
	if err != nil || id == 0 {
		return "", status.Errorf(codes.InvalidArgument, "decision: expected its number, got %q", r.PathValue("decision"))
	}
	done, err := s.admin.UndoDecision(ctx, &misstepv1.UndoDecisionRequest{DecisionId: id})
	return "/findings/" + done.GetDecision().GetFinding(), err
}

func (s *Site) stop(ctx context.Context, r *http.Request) (string, error) {
	_, err := s.admin.StopCampaign(ctx, &misstepv1.StopCampaignRequest{CampaignId: r.PathValue("id")})
	return "/campaigns/" + r.PathValue("id"), err
}

func (s *Site) trust(ctx context.Context, r *http.Request) (string, error) {
	_, err := s.admin.TrustOwner(ctx, &misstepv1.TrustOwnerRequest{Owner: r.PostFormValue("owner")})
	return "/fleet", err
}

func (s *Site) drain(ctx context.Context, r *http.Request) (string, error) {
	_, err := s.admin.DrainRunner(ctx, &misstepv1.DrainRunnerRequest{
		RunnerId: r.PostFormValue("runner"), Owner: r.PostFormValue("owner"), Undo: r.PostFormValue("undo") != "",
	})
	return "/fleet", err
}
