package main

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	misstepv1 "misstep/proto/misstep/v1"
)

// visibilityFlags name a finding about whose visibility something is decided.
type visibilityFlags struct {
	coordinatorFlags
	ID     string `arg:"" help:"Finding id or a prefix of it."`
	Reason string `help:"Why." placeholder:"TEXT"`
}

// namedFlags name who sees a finding besides.
type namedFlags struct {
	For []string `help:"Let this person see it too, in whatever project they have a role; may be repeated." placeholder:"PERSON"`
}

func (f visibilityFlags) set(ctx context.Context, e *env, req *misstepv1.SetVisibilityRequest) error {
	st, err := f.open(e)
	if err != nil {
		return err
	}
	defer st.Close()
	req.FindingId, req.Reason = f.ID, f.Reason
	r, err := st.SetVisibility(ctx, req)
	if err != nil {
		return err
	}
	v := r.GetVisibility()
	if v == nil {
		v = &misstepv1.FindingVisibility{FindingId: f.ID}
	}
	fmt.Fprintf(e.stdout, "%s: %s\n", v.GetFindingId(), plain(misstepv1.VisibilityText(v)))
	return nil
}

type findingsShare struct{ visibilityFlags }

// Run shares.
func (c *findingsShare) Run(ctx context.Context, e *env) error {
	return c.set(ctx, e, &misstepv1.SetVisibilityRequest{Visibility: misstepv1.Visibility_VISIBILITY_SHARED})
}

type findingsEmbargo struct {
	visibilityFlags
	namedFlags
	Until string `help:"End of the embargo, when its project sees the finding: a day such as 2027-01-31 (its first moment in UTC), or a time such as 2027-01-31T15:00:00Z." required:"" placeholder:"DATE"`
}

// Run embargoes.
func (c *findingsEmbargo) Run(ctx context.Context, e *env) error {
	until, err := parseDate(c.Until)
	if err != nil {
		return fmt.Errorf("--until: %w", err)
	}
	return c.set(ctx, e, &misstepv1.SetVisibilityRequest{
		Visibility: misstepv1.Visibility_VISIBILITY_EMBARGOED, Until: timestamppb.New(until), People: c.For,
	})
}

type findingsKeepPrivate struct {
	visibilityFlags
	namedFlags
}

// Run makes private.
func (c *findingsKeepPrivate) Run(ctx context.Context, e *env) error {
	return c.set(ctx, e, &misstepv1.SetVisibilityRequest{Visibility: misstepv1.Visibility_VISIBILITY_PRIVATE, People: c.For})
}

type findingsRelease struct{ visibilityFlags }

// Run releases.
func (c *findingsRelease) Run(ctx context.Context, e *env) error {
	return c.set(ctx, e, &misstepv1.SetVisibilityRequest{})
}

// parseDate reads a day or a time.
func parseDate(text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q: expected a day such as 2027-01-31, or a time such as 2027-01-31T15:00:00Z", text)
}
