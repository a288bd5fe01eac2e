package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/app/hunt"
	"misstep/app/station"
	"misstep/coordinator/store"
	"misstep/coordinator/store/stores"
	misstepv1 "misstep/proto/misstep/v1"
)

// seeded are the findings of a folder that seedFindings makes: 16 of one known bug, one that is known on one of its JDKs only, and
// two new ones.
func seeded() []*misstepv1.Finding {
	finding := func(id, kind, title string, age time.Duration, campaign string, parts ...string) *misstepv1.Finding {
		seen := time.Now().Add(-age)
		return &misstepv1.Finding{
			Id: id, Title: title, Campaigns: []string{campaign}, Signature: &misstepv1.Signature{Kind: kind, Parts: parts, Version: 1},
			FirstSeen: timestamppb.New(seen.Add(-24 * time.Hour)), LastSeen: timestamppb.New(seen),
		}
	}
	all := []*misstepv1.Finding{
		finding("Faaaaaaaaaaa1", "crash", "SIGSEGV in V frame::sender below AsyncGetCallTrace of a thread that is about to end",
			2*time.Hour, "C00000000000a", "SIGSEGV", "V frame::sender"),
		finding("Faaaaaaaaaaa2", "hang", "all threads wait for Threads_lock", 90*time.Hour, "C00000000000a", "deadlock", "Threads_lock"),
		finding("Faaaaaaaaaaa3", "mismatch", "asgct-shadow: the stack is cut off at the linker of a method handle", 30*time.Hour,
			"C00000000000b", "asgct-shadow", "truncated", "method handle"),
	}
	for i := range 16 {
		all = append(all, finding(fmt.Sprintf("Fbbbbbbbbbb%02d", i), "mismatch", "gst-asgct: the stack is cut off at the VM's upcall",
			time.Duration(i+1)*time.Minute+30*time.Second, "C00000000000b", "gst-asgct", "truncated", fmt.Sprintf("upcall m%d", i)))
	}
	return all
}

// seedFindings is the command seed DIR of scripts: it makes a hunt's folder with the seeded findings, and bundles (empty files) of
// the known ones.
func seedFindings(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(seed(ts.MkAbs(args[0])))
}

// loseFindings is the command lose FROM TO of scripts: TO becomes a hunt's folder with the campaigns, trials and evidence of FROM,
// and without its findings.
func loseFindings(ts *testscript.TestScript, _ bool, args []string) {
	from, to := ts.MkAbs(args[0]), ts.MkAbs(args[1])
	ts.Check(os.CopyFS(station.BlobsPath(to), os.DirFS(station.BlobsPath(from))))
	in, err := stores.Open(context.Background(), from)
	ts.Check(err)
	defer in.Close()
	out, err := stores.Open(context.Background(), to)
	ts.Check(err)
	defer out.Close()
	ts.Check(in.View(context.Background(), func(all store.Tx) error {
		return out.Update(context.Background(), func(tx store.Tx) error {
			campaigns, err := all.Campaigns(false)
			for _, c := range campaigns {
				trials, readErr := all.Trials(c.ID, 0, 100)
				err = errors.Join(err, readErr, tx.PutCampaign(c))
				for _, t := range trials {
					t.FindingIDs = nil
					err = errors.Join(err, tx.AddTrial(t))
				}
			}
			return err
		})
	}))
}

func seed(dir string) error {
	if err := os.MkdirAll(hunt.BundlesPath(dir), 0o755); err != nil {
		return err
	}
	st, err := stores.Open(context.Background(), dir)
	if err != nil {
		return err
	}
	defer st.Close()
	return st.Update(context.Background(), func(tx store.Tx) error {
		jdks := []*misstepv1.Jdk{{Name: "jdk17", Version: "17.0.3"}, {Name: "jdk25", Version: "25.0.3"}}
		for _, id := range []string{"C00000000000a", "C00000000000b"} {
			if err := tx.PutCampaign(&store.Campaign{
				ID: id, State: misstepv1.CampaignState_CAMPAIGN_STATE_DONE, Tally: &misstepv1.CampaignStatus{},
				Submission: &misstepv1.SubmitCampaignRequest{Campaign: &misstepv1.Campaign{Name: "seeded"}, Jdks: jdks},
			}); err != nil {
				return err
			}
		}
		index := uint64(0)
		for i, f := range seeded() {
			if err := tx.PutFinding(&store.Finding{Proto: f}); err != nil {
				return err
			}
			on := jdks[:1+i%2]
			if f.GetId() == "Faaaaaaaaaaa3" {
				on = jdks
			}
			for _, jdk := range on {
				index++
				if err := tx.AddTrial(&store.Trial{
					Campaign: f.GetCampaigns()[0], Index: index, FindingIDs: []string{f.GetId()},
					Recipe: &misstepv1.Recipe{
						Jdk: jdk, Workload: &misstepv1.Workload{Name: "w"},
						Checks: []*misstepv1.Check{{Name: "gst-asgct"}, {Name: "asgct-shadow"}},
					},
					Outcome: &misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES},
				}); err != nil {
					return err
				}
			}
			if strings.HasPrefix(f.GetId(), "Fb") {
				if err := os.WriteFile(filepath.Join(hunt.BundlesPath(dir), f.GetId()+".zip"), nil, 0o644); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
