package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/sim/fleet"
)

// submission is a campaign of a usual size: 72 combinations, whose recipes have about half a kilobyte.
func submission(trials uint64) *misstepv1.SubmitCampaignRequest {
	digest := func(n int) string { return "sha256:" + strings.Repeat(fmt.Sprintf("%02x", n), 32) }
	r := &misstepv1.SubmitCampaignRequest{Campaign: &misstepv1.Campaign{
		Name: "fleet", Seed: 1, Budget: &misstepv1.Budget{Trials: trials},
		Checks:   []*misstepv1.Check{{Name: "gst-asgct"}, {Name: "asgct-shadow"}, {Name: "liveness"}},
		Sampling: []*misstepv1.Sampling{{Interval: durationpb.New(time.Millisecond), Jitter: 0.5}},
		FlagSets: []*misstepv1.FlagSet{
			{Name: "default"},
			{Name: "comp", Flags: []string{"-Xcomp"}},
			{Name: "int", Flags: []string{"-Xint"}},
			{Name: "zgc", Flags: []string{"-XX:+UseZGC", "-Xmx512m"}},
		},
	}}
	for i, name := range []string{"jdk17", "jdk21", "jdk25"} {
		r.Campaign.Jdks = append(r.Campaign.Jdks, name)
		r.Jdks = append(r.Jdks, &misstepv1.Jdk{
			Name: name, Digest: digest(i), Version: "OpenJDK 64-Bit Server VM (" + name[3:] + "+36) for linux-amd64 JRE",
		})
	}
	for i, name := range []string{"mix", "deopt", "churn", "upcalls", "exceptions", "lucene"} {
		r.Campaign.Workloads = append(r.Campaign.Workloads, &misstepv1.CampaignWorkload{Name: name})
		r.Workloads = append(r.Workloads, &misstepv1.Workload{
			Name: name, Digest: digest(100 + i), Arguments: []string{"10", "all"},
		})
	}
	return r
}

// feed keeps enough campaigns of a kind running that no runner lacks work, until ctx ends. token says who submits them, where the
// coordinator asks. done returns the number of results so far.
func feed(
	ctx context.Context, c fleet.Config, token string, campaign *misstepv1.SubmitCampaignRequest, done func() uint64,
) error {
	secure := insecure.NewCredentials()
	if c.TLS != nil {
		secure = credentials.NewTLS(c.TLS)
	}
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	conn, err := grpc.NewClient("passthrough:"+c.Addresses[0], grpc.WithTransportCredentials(secure))
	if err != nil {
		return fmt.Errorf("connect to the coordinator: %w", err)
	}
	defer conn.Close()
	admin := misstepv1.NewAdminServiceClient(conn)
	for submitted := uint64(0); ctx.Err() == nil; {
		// Within the time between two looks no more is done than this.
		for submitted < done()+2*uint64(c.Runners)*uint64(max(1, c.Slots))+10_000 {
			if _, err := admin.SubmitCampaign(ctx, campaign); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return fmt.Errorf("submit a campaign: %w", err)
			}
			submitted += campaign.GetCampaign().GetBudget().GetTrials()
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}
