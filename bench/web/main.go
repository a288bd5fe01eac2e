// Command web measures the pages of a coordinator with many trials, findings and runners: how long the server takes for each, the
// first time and for those who come after, how large a page is, and when Chromium has painted it. Then it measures what people who
// look cost the runners: in turns VIEWERS people follow what happens, or nobody does, while the runners work; and how long it takes
// until they see a change.
//
// TRIALS, FINDINGS, RUNNERS, VIEWERS and ROUNDS set the numbers, WINDOW and PAUSE the length of a turn and of a trial. STORE is the
// URL of a store that is empty (default: SQLite in build/bench/web). With KEEP=yes a store that an earlier run has filled with
// these numbers is used again, and PROFILE=FILE writes a processor profile of the measurement.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"time"

	"misstep/app/station"
	"misstep/app/web"
	"misstep/bench"
	"misstep/coordinator"
	"misstep/coordinator/store/stores"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

const (
	standardTrials   = 1_000_000
	standardFindings = 10_000
	standardRunners  = 1000
	// standardLooks is the number of requests for each page after the first.
	standardLooks = 200
	// maxTime and maxBytes are the goals.
	maxTime  = 100 * time.Millisecond
	maxBytes = 300_000
)

func main() { bench.Main("web", run) }

func run(ctx context.Context, stdout io.Writer) (err error) {
	budget, err := bench.Budget(os.Getenv("BUDGET"))
	if err != nil {
		return err
	}
	trials, err := sizeOf("TRIALS", standardTrials)
	if err != nil {
		return err
	}
	findings, err := sizeOf("FINDINGS", standardFindings)
	if err != nil {
		return err
	}
	crowd, err := crowdOf()
	if err != nil {
		return err
	}
	start := time.Now()
	ctx, cancel := context.WithDeadline(ctx, start.Add(budget))
	defer cancel()
	dir := filepath.Join(testenv.Root(), "build", "bench", "web")
	place := station.Place{Dir: dir, Store: os.Getenv("STORE")}
	if err := prepare(ctx, place, trials, findings); err != nil {
		return fmt.Errorf("fill the store: %w", err)
	}
	bench.Note("%d trials and %d findings in %v", trials, findings, time.Since(start).Round(time.Second))
	if path := os.Getenv("PROFILE"); path != "" {
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	report := bench.Report{Name: "web", Date: start, Budget: budget}
	rows, pages, err := measurePages(ctx, place, crowd.runners, standardLooks, standardLoads)
	if err != nil {
		return err
	}
	table := bench.Table{
		Title:   fmt.Sprintf("pages over %d trials, %d findings and %d runners, in ms", trials, findings, crowd.runners),
		Columns: []string{"page", "first", "median", "p95", "kB", "kB compressed"},
	}
	for _, f := range rows {
		table.Rows = append(table.Rows, []string{
			f.Page, bench.Figure(f.First), bench.Figure(f.Median), bench.Figure(f.P95), bench.Figure(float64(f.Bytes) / 1000),
			bench.Figure(float64(f.Compressed) / 1000),
		})
		report.Goals = append(report.Goals,
			bench.Goal{Name: f.Page + ": p95", Goal: ms(maxTime), Measured: f.P95, Unit: "ms"},
			bench.Goal{Name: f.Page + ": weight", Goal: maxBytes, Measured: float64(f.Compressed), Unit: "bytes compressed"})
	}
	for _, s := range pages {
		report.Goals = append(report.Goals, s.goals()...)
	}
	bench.Note("%d pages", len(rows))
	seen, err := crowd.measure(ctx, place)
	if err != nil {
		return fmt.Errorf("people beside runners: %w", err)
	}
	report.Goals = append(report.Goals, seen.goals()...)
	report.Tables = []bench.Table{table, tableOf(pages), seen.table()}
	report.Rows = struct {
		Pages []figures
		Shown []shown
		Crowd watched
	}{rows, pages, seen}
	report.Reached = fmt.Sprintf("%d pages and %d turns in %s", len(rows), len(seen.Turns), time.Since(start).Round(time.Second))
	return report.Finish(stdout, filepath.Join(testenv.Root(), "build", "bench"))
}

// measurePages measures each page, and what Chromium says of it, while many runners are there that do nothing.
func measurePages(ctx context.Context, place station.Place, runners, looks, loads int) (rows []figures, pages []shown, err error) {
	s, err := station.EmbedAt(place, coordinator.Config{LeaseTime: time.Hour}) // for which runners are listed after a call
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	for i := range runners {
		if _, err := s.Leases.Synchronize(ctx, &misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{
			Id: fmt.Sprintf("idle-%05d", i), Host: fmt.Sprintf("host-%03d", i/8), Slots: 1, AgentDigest: digestOf("d"),
			Capabilities: []string{"sched_ext", "vm"},
		}}); err != nil {
			return nil, nil, err
		}
	}
	site := httptest.NewServer(web.New(web.Options{Conn: s.Conn, Blobs: s.Blobs}))
	defer site.Close()
	for _, path := range pagesOf() {
		f, err := measure(ctx, site.URL, path, looks)
		if err != nil {
			return nil, nil, err
		}
		rows = append(rows, f)
	}
	pages, err = measureShown(ctx, site.URL, pagesOf(), loads)
	return rows, pages, err
}

// pagesOf are the pages that are measured.
func pagesOf() []string {
	return []string{
		"/", "/findings", "/findings?by=finding", "/matrix", "/findings/" + signature.ID(signatureOf(0)),
		"/campaigns", "/campaigns/" + campaignID, "/samplers", "/fleet", "/known",
	}
}

// prepare fills the store, unless it is to be kept and an earlier run has filled it.
func prepare(ctx context.Context, place station.Place, trials, findings int) (err error) {
	keep := os.Getenv("KEEP") == "yes"
	if !keep {
		err = os.RemoveAll(place.Dir)
	}
	if err := errors.Join(err, os.MkdirAll(place.Dir, 0o755)); err != nil {
		return err
	}
	st, err := stores.Open(ctx, cmp.Or(place.Store, place.Dir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if keep {
		if done, err := filled(ctx, st, trials, findings); done || err != nil {
			return err
		}
	}
	return fill(ctx, st, trials, findings)
}

// sizeOf is a number that an environment variable sets.
func sizeOf(name string, standard int) (int, error) {
	text := os.Getenv(name)
	if text == "" {
		return standard, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s=%s: expected a number above 0", name, text)
	}
	return n, nil
}

// figures of a page, times in milliseconds.
type figures struct {
	Page              string
	First             float64
	Median, P95       float64
	Bytes, Compressed int
	Looks             int
}

// measure gets a page again and again, without a pause: the first time its data are read, later ones see what is kept for a moment
// and now and then what is read anew.
func measure(ctx context.Context, url, path string, looks int) (figures, error) {
	f := figures{Page: path, Looks: looks}
	var times []float64
	for i := range looks + 1 {
		begin := time.Now()
		n, err := get(ctx, url+path, i%2 == 0)
		if err != nil {
			return f, fmt.Errorf("%s: %w", path, err)
		}
		took := ms(time.Since(begin))
		if i == 0 {
			f.First = took
			f.Compressed = n
			continue
		}
		if i%2 == 1 {
			f.Bytes = n
		}
		times = append(times, took)
		time.Sleep(20 * time.Millisecond) // somebody reads
	}
	slices.Sort(times)
	f.Median, f.P95 = times[len(times)/2], times[int(math.Ceil(0.95*float64(len(times))))-1]
	return f, nil
}

// get returns the number of bytes of an answer as it travels.
func get(ctx context.Context, url string, compressed bool) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("Accept-Encoding", "identity")
	if compressed {
		request.Header.Set("Accept-Encoding", "gzip")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	n, err := io.Copy(io.Discard, response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status)
	}
	return int(n), err
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
