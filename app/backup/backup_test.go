package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/backup"
	"misstep/app/station"
	"misstep/bundle/share"
	"misstep/coordinator"
	"misstep/coordinator/store/stores"
	"misstep/coordinator/store/transfer"
	"misstep/corpus"
	"misstep/corpus/tree"
	"misstep/internal/testenv"
	"misstep/internal/testenv/pgtest"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/runner/sim"
)

const trials = 240

// evidenced stores evidence of each trial, the same text for the same recipe.
type evidenced struct {
	runner.Executor
	blobs corpus.Store
}

func (e evidenced) Run(
	ctx context.Context, r *misstepv1.Recipe, progress func(*misstepv1.Progress),
) (*misstepv1.Outcome, error) {
	o, err := e.Executor.Run(ctx, r, progress)
	if err != nil {
		return nil, err
	}
	d, size, err := e.blobs.Put(ctx, strings.NewReader(fmt.Sprint("evidence of seed ", r.GetSeed())), corpus.Digest{})
	if err != nil {
		return nil, err
	}
	o.Evidence = append(o.Evidence, &misstepv1.Evidence{Name: "stdout.txt", Digest: d.String(), Size: uint64(size)})
	return o, nil
}

// hunt opens the folder of a coordinator and runs trials until the campaign is done or during returns. It submits the campaign if
// there is none.
func hunt(t *testing.T, dir string, during func(ctx context.Context, st *station.Station, id string)) {
	t.Helper()
	huntAt(t, station.Place{Dir: dir}, during)
}

// huntAt is hunt for a coordinator that keeps its store elsewhere.
func huntAt(t *testing.T, place station.Place, during func(ctx context.Context, st *station.Station, id string)) {
	t.Helper()
	st, err := station.EmbedAt(place, station.HuntTiming(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	defer st.Close()
	all, err := st.ListCampaigns(t.Context(), &misstepv1.ListCampaignsRequest{})
	require.NoError(t, err)
	id := ""
	if len(all.GetCampaigns()) > 0 {
		id = all.GetCampaigns()[0].GetId()
	} else {
		digest := "sha256:" + strings.Repeat("b", 64)
		r, err := st.SubmitCampaign(t.Context(), &misstepv1.SubmitCampaignRequest{
			Campaign: &misstepv1.Campaign{
				Name: "sim", Seed: 3, Jdks: []string{"jdk21"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "w", Repetitions: 1}},
				Checks: []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: trials},
			},
			Jdks: []*misstepv1.Jdk{{Name: "jdk21", Digest: digest}}, Workloads: []*misstepv1.Workload{{Name: "w", Digest: digest}},
		})
		require.NoError(t, err)
		id = r.GetCampaignId()
	}
	simulated, err := sim.New(sim.Script{Seed: 7, Duration: 5 * time.Millisecond, Events: []sim.Event{
		{Rate: 0.1, Outcome: sim.Mismatch("A")}, {Rate: 0.05, Outcome: sim.Mismatch("B")}, {Rate: 0.1, Outcome: sim.Crash("f")},
	}}, runner.SystemClock{})
	require.NoError(t, err)
	r, err := runner.New(runner.Config{
		Client: st.Leases, Slots: 4, Executor: evidenced{Executor: simulated, blobs: st.Blobs},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	during(ctx, st, id)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		require.NoError(t, err)
	}
}

func finished(t *testing.T, st *station.Station, id string) uint64 {
	t.Helper()
	r, err := st.GetCampaign(t.Context(), &misstepv1.GetCampaignRequest{CampaignId: id})
	require.NoError(t, err)
	n := uint64(0)
	for _, count := range r.GetCampaign().GetOutcomes() {
		n += count
	}
	return n
}

func await(t *testing.T, st *station.Station, id string, n uint64) {
	t.Helper()
	require.Eventually(t, func() bool { return finished(t, st, id) >= n }, time.Minute, 10*time.Millisecond)
}

// result is what a campaign has found: trials by finding, and the digests of the evidence of those trials.
type result struct {
	hits     map[string]int
	evidence []string
	trials   int
}

func resultOf(t *testing.T, st *station.Station, id string) result {
	t.Helper()
	all, err := station.Trials(t.Context(), st, id)
	require.NoError(t, err)
	r := result{hits: map[string]int{}, trials: len(all)}
	for _, trial := range all {
		for _, f := range trial.GetFindingIds() {
			r.hits[f]++
		}
		for _, e := range trial.GetOutcome().GetEvidence() {
			r.evidence = append(r.evidence, e.GetDigest())
			d, err := corpus.ParseDigest(e.GetDigest())
			require.NoError(t, err)
			_, err = corpus.ReadAll(t.Context(), st.Blobs, d, 1000)
			require.NoError(t, err, "evidence of trial %d", trial.GetId())
		}
	}
	slices.Sort(r.evidence)
	return r
}

// undisturbed returns what a hunt finds that nobody disturbs.
func undisturbed(t *testing.T) (want result) {
	t.Helper()
	hunt(t, t.TempDir(), func(_ context.Context, st *station.Station, id string) {
		await(t, st, id, trials)
		want = resultOf(t, st, id)
	})
	require.Equal(t, trials, want.trials)
	require.GreaterOrEqual(t, len(want.hits), 2)
	return want
}

// backUpTwice backs up a hunt in its midst, twice, and lets it go on for a while.
func backUpTwice(t *testing.T, place station.Place, to string) {
	t.Helper()
	huntAt(t, place, func(ctx context.Context, st *station.Station, id string) {
		await(t, st, id, trials/8)
		first, err := backup.Make(ctx, place.Dir, place.Store, to)
		require.NoError(t, err)
		assert.Equal(t, first.Blobs, first.Copied)
		await(t, st, id, trials/3)
		second, err := backup.Make(ctx, place.Dir, place.Store, to)
		require.NoError(t, err)
		assert.Empty(t, second.Lost)
		assert.Greater(t, second.Blobs, first.Blobs)
		assert.Equal(t, second.Blobs-first.Blobs, second.Copied, "blobs of the first are not copied again")
		await(t, st, id, trials/2)
	})
}

// continues asserts that a restored hunt has what was acknowledged before its backup, and finds in the end what it should.
func continues(t *testing.T, place station.Place, want result) {
	t.Helper()
	huntAt(t, place, func(_ context.Context, st *station.Station, id string) {
		before := finished(t, st, id)
		assert.GreaterOrEqual(t, before, uint64(trials/3), "what was acknowledged before the backup is there")
		assert.Less(t, before, uint64(trials))
		await(t, st, id, trials)
		assert.Equal(t, want, resultOf(t, st, id))
	})
}

// TestBackupWhileResultsAreRecorded backs up a hunt in its midst and loses it. What is restored continues to the same findings as a
// hunt that nobody disturbed.
func TestBackupWhileResultsAreRecorded(t *testing.T) {
	want := undisturbed(t)
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "backup")
	backUpTwice(t, station.Place{Dir: dir}, to)
	require.NoError(t, os.RemoveAll(dir))

	restored := filepath.Join(t.TempDir(), "new")
	report, err := backup.Restore(t.Context(), to, restored)
	require.NoError(t, err)
	assert.Empty(t, report.Lost)
	continues(t, station.Place{Dir: restored}, want)
	_, err = backup.Restore(t.Context(), to, restored)
	require.ErrorContains(t, err, "has a store already")
}

// TestBackupFromPostgreSQL backs up a hunt whose rows are in a database, and loses both. What is restored is a folder with a store
// of its own, which continues there, or in a new database after a copy.
func TestBackupFromPostgreSQL(t *testing.T) {
	server := pgtest.Start(t)
	want := undisturbed(t)
	place := station.Place{Dir: t.TempDir(), Store: server.Database(t)}
	to := filepath.Join(t.TempDir(), "backup")
	backUpTwice(t, place, to)
	_, err := backup.Make(t.Context(), place.Dir, "", to)
	require.ErrorContains(t, err, "give it with --store")
	require.NoError(t, os.RemoveAll(place.Dir))
	server.Stop()

	restore := func() station.Place {
		dir := filepath.Join(t.TempDir(), "new")
		report, err := backup.Restore(t.Context(), to, dir)
		require.NoError(t, err)
		assert.Empty(t, report.Lost)
		return station.Place{Dir: dir}
	}
	continues(t, restore(), want)

	again := restore()
	require.NoError(t, server.Run())
	again.Store = server.Database(t)
	from, err := stores.Open(t.Context(), again.Dir)
	require.NoError(t, err)
	database, err := stores.Open(t.Context(), again.Store)
	require.NoError(t, err)
	_, err = transfer.Copy(t.Context(), "folder", from, database, func(string, uint64) {})
	require.NoError(t, errors.Join(err, from.Close(), database.Close()))
	continues(t, again, want)
}

// small makes a coordinator's folder with a few trials, and its backup.
func small(t *testing.T) (dir, to string) {
	t.Helper()
	dir, to = t.TempDir(), filepath.Join(t.TempDir(), "backup")
	hunt(t, dir, func(_ context.Context, st *station.Station, id string) { await(t, st, id, 20) })
	_, err := backup.Make(t.Context(), dir, "", to)
	require.NoError(t, err)
	return dir, to
}

func only(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.Len(t, names, 1)
	return names[0]
}

func TestADamagedBackupIsRefused(t *testing.T) {
	_, to := small(t)
	damage := map[string]func(){
		"has no whole backup": func() { require.NoError(t, os.Remove(filepath.Join(to, "backup.txt"))) },
		"its end is missing": func() {
			text, err := os.ReadFile(filepath.Join(to, "backup.txt"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(to, "backup.txt"), text[:bytes.LastIndex(text, []byte("end "))], 0o644))
		},
		"bytes have digest": func() {
			name := only(t, filepath.Join(to, "store-*.db"))
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			data[len(data)/2] ^= 1
			require.NoError(t, os.WriteFile(name, data, 0o644))
		},
	}
	backups := map[string][]byte{}
	require.NoError(t, filepath.WalkDir(to, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			backups[path], err = os.ReadFile(path)
		}
		return err
	}))
	for want, destroy := range damage {
		for path, data := range backups {
			_ = os.Chmod(path, 0o644)
			require.NoError(t, os.WriteFile(path, data, 0o644))
		}
		destroy()
		dir := filepath.Join(t.TempDir(), "new")
		_, err := backup.Restore(t.Context(), to, dir)
		require.ErrorContains(t, err, want)
		assert.NoFileExists(t, filepath.Join(dir, "store.db"), want)
	}
}

func TestWhatCannotBeBackedUpIsSaid(t *testing.T) {
	dir, to := small(t)
	_, err := backup.Make(t.Context(), t.TempDir(), "", to)
	require.ErrorContains(t, err, "no hunt in")
	_, err = backup.Make(t.Context(), dir, "", dir)
	require.ErrorContains(t, err, "give a folder for backups")
	elsewhere := t.TempDir() // the folder of a coordinator whose store is in a database
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "store.url"), []byte("postgres://db/misstep\n"), 0o644))
	_, err = backup.Make(t.Context(), dir, "", elsewhere)
	require.ErrorContains(t, err, elsewhere+" has store.url, which no backup has")
	_, err = backup.Make(t.Context(), elsewhere, "", to)
	require.ErrorContains(t, err, "postgres://db/misstep, not in the folder")
	_, err = backup.Make(t.Context(), filepath.Join(dir, "none"), "sqlite:"+filepath.Join(dir, "store.db"), to)
	require.ErrorContains(t, err, "no folder of a coordinator")
	other := t.TempDir()
	require.NoError(t, stores.Create(t.Context(), other))
	_, err = backup.Make(t.Context(), dir, "sqlite:"+stores.File(other), to)
	require.ErrorContains(t, err, "belong to the store")
	// Evidence that has been lost is named, and the rest is backed up.
	names, err := filepath.Glob(filepath.Join(dir, "blobs", "??", "*"))
	require.NoError(t, err)
	require.NoError(t, os.Remove(names[0]))
	report, err := backup.Make(t.Context(), dir, "", filepath.Join(t.TempDir(), "other"))
	require.NoError(t, err)
	assert.Equal(t, []string{"sha256:" + filepath.Base(names[0])}, report.Lost)
}

// Files of a JDK that a campaign names, and that no runner has asked for yet, are in the machine's catalogue only: they are not
// lost unless it lacks them, too.
func TestFilesThatOnlyTheCatalogueHasAreNotLost(t *testing.T) {
	dir, jdk := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(jdk, "release"), []byte("a JDK"), 0o644))
	m, err := tree.Scan(jdk)
	require.NoError(t, err)
	st, err := station.EmbedAt(station.Place{Dir: dir}, station.HuntTiming(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	_, _, err = st.Blobs.Put(t.Context(), bytes.NewReader(m.Bytes()), m.Digest())
	require.NoError(t, err)
	_, err = st.SubmitCampaign(t.Context(), &misstepv1.SubmitCampaignRequest{
		Campaign: &misstepv1.Campaign{
			Name: "unused", Jdks: []string{"jdk21"}, Workloads: []*misstepv1.CampaignWorkload{{Name: "w", Repetitions: 1}},
			Checks: []*misstepv1.Check{{Name: "gst-asgct"}}, Budget: &misstepv1.Budget{Trials: 1},
		},
		Jdks:      []*misstepv1.Jdk{{Name: "jdk21", Digest: m.Digest().String()}},
		Workloads: []*misstepv1.Workload{{Name: "w", Digest: "sha256:" + strings.Repeat("b", 64)}},
	})
	require.NoError(t, err)
	st.Close()
	report, err := backup.Make(t.Context(), dir, "", t.TempDir(), tree.Source(jdk, m))
	require.NoError(t, err)
	assert.Empty(t, report.Lost)
	assert.Equal(t, 1, report.Catalogued)
	report, err = backup.Make(t.Context(), dir, "", t.TempDir())
	require.NoError(t, err)
	assert.Len(t, report.Lost, 1)
	assert.Zero(t, report.Catalogued)
}

// TestBackupOfABucket leaves the blobs where they are.
func TestBackupOfABucket(t *testing.T) {
	s := testenv.StartS3(t)
	t.Setenv("AWS_ACCESS_KEY_ID", s.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s.SecretKey)
	dir, to := t.TempDir(), t.TempDir()
	location := "s3://" + s.Bucket + "/hunt?endpoint=" + s.Endpoint
	_, err := station.OpenBlobs(t.Context(), dir, location)
	require.NoError(t, err)
	var want result
	hunt(t, dir, func(_ context.Context, st *station.Station, id string) { await(t, st, id, 20) })
	hunt(t, dir, func(_ context.Context, st *station.Station, id string) {
		await(t, st, id, 40)
		want = resultOf(t, st, id)
	})
	report, err := backup.Make(t.Context(), dir, "", to)
	require.NoError(t, err)
	assert.Equal(t, location, report.Bucket)
	assert.GreaterOrEqual(t, report.Blobs, want.trials)
	assert.NoDirExists(t, filepath.Join(to, "blobs"))
	restored := filepath.Join(t.TempDir(), "new")
	report, err = backup.Restore(t.Context(), to, restored)
	require.NoError(t, err)
	assert.Empty(t, report.Lost)
	hunt(t, restored, func(_ context.Context, st *station.Station, id string) {
		assert.GreaterOrEqual(t, resultOf(t, st, id).trials, want.trials)
	})
}

// A folder is restored into only when nothing is lost by that.
func TestWhereNothingIsRestored(t *testing.T) {
	_, to := small(t)
	busy := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(busy, "store.url"), []byte("postgres://db/misstep\n"), 0o644))
	_, err := backup.Restore(t.Context(), to, busy)
	require.ErrorContains(t, err, "it is not empty, it has store.url: give a new folder")
	_, err = backup.Restore(t.Context(), to, to)
	require.ErrorContains(t, err, "it is not empty")
	assert.NoFileExists(t, filepath.Join(to, "store.db"))
}

// What a restore that broke off has left is nobody's folder until the same restore has ended.
func TestARestoreThatBrokeOffIsContinued(t *testing.T) {
	_, to := small(t)
	store := only(t, filepath.Join(to, "store-*.db"))
	require.NoError(t, os.Rename(store, store+".away"))
	dir := filepath.Join(t.TempDir(), "new")
	_, err := backup.Restore(t.Context(), to, dir)
	require.Error(t, err)
	const want = "run `misstep store restore "
	_, err = station.Embed(dir, station.HuntTiming(slog.New(slog.DiscardHandler)))
	require.ErrorContains(t, err, want)
	_, err = station.OpenDir(dir, station.HuntTiming(slog.New(slog.DiscardHandler)))
	require.ErrorContains(t, err, want)
	_, err = station.Open(t.Context(), station.Place{Dir: dir, Store: "sqlite:" + filepath.Join(t.TempDir(), "x.db")},
		coordinator.Config{}, share.Policy{})
	require.ErrorContains(t, err, want)
	_, other := small(t)
	_, err = backup.Restore(t.Context(), other, dir)
	require.ErrorContains(t, err, "it has a part of the backup "+to)

	require.NoError(t, os.Rename(store+".away", store))
	report, err := backup.Restore(t.Context(), to, dir)
	require.NoError(t, err)
	assert.Zero(t, report.Copied, "the blobs were there")
	hunt(t, dir, func(_ context.Context, st *station.Station, id string) { assert.NotZero(t, resultOf(t, st, id).trials) })
}

// A blob that is missing or has other bytes does not keep the rest from being restored.
func TestDamagedBlobsAreNamed(t *testing.T) {
	_, to := small(t)
	names, err := filepath.Glob(filepath.Join(to, "blobs", "??", "*"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(names), 2)
	require.NoError(t, os.Remove(names[0]))
	data, err := os.ReadFile(names[1])
	require.NoError(t, err)
	require.NoError(t, os.Chmod(names[1], 0o644))
	data[0] ^= 1
	require.NoError(t, os.WriteFile(names[1], data, 0o644))
	dir := filepath.Join(t.TempDir(), "new")
	report, err := backup.Restore(t.Context(), to, dir)
	require.NoError(t, err)
	var want []string
	for _, name := range names[:2] {
		want = append(want, "sha256:"+filepath.Base(name))
		assert.NoFileExists(t, filepath.Join(dir, "blobs", filepath.Base(filepath.Dir(name)), filepath.Base(name)))
	}
	assert.ElementsMatch(t, want, report.Damaged)
	assert.Equal(t, report.Blobs-2, report.Copied)
	require.NoError(t, station.CheckDir(dir))
}
