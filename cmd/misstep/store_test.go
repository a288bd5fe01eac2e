package main

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"misstep/app/station"
	"misstep/coordinator/store"
	"misstep/coordinator/store/stores"
	"misstep/coordinator/store/transfer"
	"misstep/internal/testenv/pgtest"
	misstepv1 "misstep/proto/misstep/v1"
)

func TestStoreCopy(t *testing.T) {
	dir, database := filepath.Join(t.TempDir(), "hunt"), pgtest.Start(t, "fsync=off").Database(t)
	s, err := stores.Open(t.Context(), dir)
	require.NoError(t, err)
	require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
		for _, id := range []string{"B1", "B2"} {
			if err := tx.PutKnownBug(&misstepv1.KnownBug{Id: id}); err != nil {
				return err
			}
		}
		return nil
	}))
	require.NoError(t, s.Close())

	var out, errs strings.Builder
	require.Zero(t, run(t.Context(), []string{"store", "copy", dir, database, "--json"}, &out, &errs), errs.String())
	var tables []transfer.Table
	require.NoError(t, json.Unmarshal([]byte(out.String()), &tables))
	rows := map[string]uint64{}
	for _, table := range tables {
		rows[table.Name] = table.Rows
	}
	assert.Equal(t, uint64(2), rows["known bugs"])
	out.Reset()
	back := filepath.Join(t.TempDir(), "back")
	require.Zero(t, run(t.Context(), []string{"store", "copy", database, back}, &out, &errs), errs.String())
	assert.Regexp(t, `(?m)^known bugs +2 +sha256:[0-9a-f]{64}$`, out.String())
	for _, c := range []struct {
		from, to, want string
	}{
		{dir, database, "the target is not empty, it has 2 known bugs"},
		{dir + "typo", back, "no store " + dir + "typo"},
		{t.TempDir(), back, "store.db: no such file"},
		{dir, "memory:", "a store in memory cannot be copied"},
		{dir, "postgres://u:secret@127.0.0.1:1/d", "start the server"},
	} {
		errs.Reset()
		assert.Equal(t, exitFailed, run(t.Context(), []string{"store", "copy", c.from, c.to}, &out, &errs))
		assert.Contains(t, errs.String(), c.want)
		assert.NotContains(t, errs.String(), "secret")
	}
}

// A copy that is interrupted says that the target is not to be used, and nobody uses it until the same command has run to its end.
func TestAnInterruptedStoreCopy(t *testing.T) {
	dir, to := filepath.Join(t.TempDir(), "hunt"), filepath.Join(t.TempDir(), "copy")
	s, err := stores.Open(t.Context(), dir)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, s.Update(t.Context(), func(tx store.Tx) error {
		return tx.PutCampaign(&store.Campaign{
			ID: "C1", Submission: &misstepv1.SubmitCampaignRequest{Campaign: &misstepv1.Campaign{Name: "copied"}},
			State: misstepv1.CampaignState_CAMPAIGN_STATE_DONE, Submitted: time.Now(), Tally: &misstepv1.CampaignStatus{},
		})
	}))
	require.NoError(t, s.Close())
	source, err := stores.Open(t.Context(), dir)
	require.NoError(t, err)
	target, err := stores.Open(t.Context(), to)
	require.NoError(t, err)
	_, err = transfer.Copy(ctx, dir, source, target, func(string, uint64) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, errors.Join(source.Close(), target.Close()))

	var out, errs strings.Builder
	err = (&storeCopy{From: dir, To: to}).failed(ctx, err)
	require.EqualError(t, err, "interrupted: "+to+" has a part of the copy and is refused until the same command has run "+
		"to its end")
	assert.Equal(t, exitFailed, run(t.Context(), []string{"campaign", "list", "--dir", to}, &out, &errs))
	assert.Contains(t, errs.String(), "it is an incomplete copy of "+dir)
	assert.Contains(t, errs.String(), "run the same `misstep store copy` again")
	require.Zero(t, run(t.Context(), []string{"store", "copy", dir, to}, &out, &errs), errs.String())
	errs.Reset()
	out.Reset()
	require.Zero(t, run(t.Context(), []string{"campaign", "list", "--dir", to}, &out, &errs), errs.String())
	assert.Contains(t, out.String(), "copied")
}

// Two coordinators on one database are one: what is submitted through one is granted by the other, and both show all. A password
// on the command line, which this server accepts as any, is advised against and not logged.
func TestTwoCoordinators(t *testing.T) {
	database := strings.Replace(pgtest.Start(t, "fsync=off").Database(t), "@", ":secret@", 1)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan string)
	var clients []*station.Station
	for range 2 {
		addr := freePort(t)
		go func() {
			var out, errs strings.Builder
			run(ctx, []string{
				"coordinator", "--listen", addr, "--dir", t.TempDir(), "--store", database, "--lease-time", "4s",
				"--home", t.TempDir(),
			}, &out, &errs)
			ended <- errs.String()
		}()
		st, err := station.Dial(addr)
		require.NoError(t, err)
		defer st.Close()
		clients = append(clients, st)
	}
	a, b := clients[0], clients[1]
	digest := "sha256:" + strings.Repeat("a", 64)
	submitted, err := a.SubmitCampaign(t.Context(), &misstepv1.SubmitCampaignRequest{
		Campaign: &misstepv1.Campaign{
			Name: "two", Jdks: []string{"17"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "w"}},
			Checks: []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: 2},
		},
		Jdks:      []*misstepv1.Jdk{{Name: "17", Digest: digest}},
		Workloads: []*misstepv1.Workload{{Name: "w", Digest: digest}},
	}, grpc.WaitForReady(true))
	require.NoError(t, err)
	sync := func(st *station.Station, runner string) []*misstepv1.Lease {
		r, err := st.Leases.Synchronize(t.Context(), &misstepv1.SynchronizeRequest{
			Runner: &misstepv1.Runner{Id: runner, Slots: 1}, FreeSlots: 1,
		}, grpc.WaitForReady(true))
		require.NoError(t, err)
		return r.GetDesired()
	}
	one, two := sync(b, "r1"), sync(a, "r2")
	require.Len(t, one, 1)
	require.Len(t, two, 1)
	assert.NotEqual(t, one[0].GetRecipe().GetSeed(), two[0].GetRecipe().GetSeed())
	for _, st := range clients {
		c, err := st.GetCampaign(t.Context(), &misstepv1.GetCampaignRequest{CampaignId: submitted.GetCampaignId()})
		require.NoError(t, err)
		assert.EqualValues(t, 2, c.GetCampaign().GetRunning())
		require.Eventually(t, func() bool {
			r, err := st.ListRunners(t.Context(), &misstepv1.ListRunnersRequest{})
			return err == nil && len(r.GetRunners()) == 2
		}, 20*time.Second, 20*time.Millisecond, "each shows the runners of both")
	}
	stop()
	for range clients {
		text := <-ended
		assert.Contains(t, text, "coordinator serves")
		assert.NotContains(t, text, "ERROR")
		assert.Contains(t, text, "others on this machine see the password in --store")
		assert.NotContains(t, text, "secret")
	}
}

// A coordinator can be ended while its database is away.
func TestEndWhileTheDatabaseIsAway(t *testing.T) {
	server := pgtest.Start(t, "fsync=off")
	database, addr := server.Database(t), freePort(t)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan string, 1)
	go func() {
		var out, errs strings.Builder
		run(ctx, []string{
			"coordinator", "--listen", addr, "--dir", t.TempDir(), "--store", database, "--home", t.TempDir(),
		}, &out, &errs)
		ended <- errs.String()
	}()
	st, err := station.Dial(addr)
	require.NoError(t, err)
	defer st.Close()
	_, err = st.ListCampaigns(t.Context(), &misstepv1.ListCampaignsRequest{}, grpc.WaitForReady(true))
	require.NoError(t, err)
	server.Stop()
	short, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err = st.Leases.Synchronize(short, &misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{Id: "r", Slots: 1}, FreeSlots: 1})
	require.Equal(t, codes.DeadlineExceeded, status.Code(err), "%v", err)
	end()
	select {
	case text := <-ended:
		assert.Contains(t, text, "the database does not answer; calls wait for it")
	case <-time.After(20 * time.Second):
		t.Fatal("the coordinator does not end")
	}
}
