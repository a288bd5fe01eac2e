package hunt

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"misstep/app"
	"misstep/app/bundles"
	"misstep/app/reproduction"
	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

// progressInterval is the least time between two lines about bundles.
const progressInterval = 2 * time.Second

// suffix of the file name of a bundle.
const suffix = ".zip"

// press writes the bundles of a hunt's findings below its folder, one at a time: of each new finding while trials run, and at the
// end of those whose contents have changed since.
type press struct {
	writer bundles.Writer
	dir    string
	// written holds by finding id the digest of what its bundle was made of.
	written map[string][sha256.Size]byte
}

func (h Hunt) press(st *station.Station) *press {
	return &press{
		writer: bundles.Writer{Installation: h.Installation, Station: st, SigningKey: h.SigningKey, Embed: h.Embed},
		dir:    BundlesPath(h.Dir), written: map[string][sha256.Size]byte{},
	}
}

// BundlesPath is the folder of the bundles in the folder of a hunt.
func BundlesPath(dir string) string { return filepath.Join(dir, "bundles") }

// Bundles returns the paths of the bundles in the folder of a hunt by finding id; none where there is no such folder.
func Bundles(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(BundlesPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list bundles: %w", err)
	}
	paths := map[string]string{}
	for _, entry := range entries {
		if id, ok := strings.CutSuffix(entry.Name(), suffix); ok && entry.Type().IsRegular() {
			paths[id] = filepath.Join(BundlesPath(dir), entry.Name())
		}
	}
	return paths, nil
}

func (p *press) path(id string) string { return filepath.Join(p.dir, id+suffix) }

// write writes the bundle of a finding unless there is one of the same contents.
func (p *press) write(ctx context.Context, id string) error {
	reproducer, err := p.writer.Newest(ctx, id)
	if err != nil {
		return err
	}
	text, err := misstepv1.Canonical(reproducer)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(text)
	_, err = os.Stat(p.path(id))
	if before, ok := p.written[id]; ok && before == digest && err == nil {
		return nil
	}
	if err := p.writer.Reproducer(ctx, reproducer, p.path(id), ""); err != nil {
		return err
	}
	p.written[id] = digest
	return nil
}

// follow writes the bundle of each new finding of a campaign soon after it was found, until the campaign or the context ends. What
// cannot be written is left to finishBundles, which reports it.
func (p *press) follow(ctx context.Context, campaign string) error {
	tried, known := map[string]bool{}, 0
	return station.WatchCampaign(ctx, p.writer.Station, campaign, func(s *misstepv1.CampaignStatus) {
		if len(s.GetFindingIds()) == known {
			return
		}
		known = len(s.GetFindingIds())
		findings, _, err := station.Findings(ctx, p.writer.Station, &misstepv1.ListFindingsRequest{CampaignId: campaign})
		if err != nil {
			return
		}
		for _, f := range findings {
			id := f.GetId()
			_, statErr := os.Stat(p.path(id))
			if fresh := errors.Is(statErr, fs.ErrNotExist); !fresh || tried[id] || ctx.Err() != nil {
				continue
			}
			tried[id] = true
			_ = p.write(ctx, id)
		}
	})
}

// during runs work, which waits for the campaign's end, and meanwhile writes the bundles of what is found.
func (p *press) during(ctx context.Context, campaign string, work func(context.Context) error) error {
	following, stop := context.WithCancel(ctx)
	defer stop()
	var followed sync.WaitGroup
	followed.Go(func() { _ = p.follow(following, campaign) }) // an error of the station's is work's as well
	err := work(ctx)
	stop()
	followed.Wait()
	return err
}

// finishBundles sees to it that each finding has a bundle of what is known of it now and returns their paths by finding id. With
// Reproduce each is that of a reproducer. A finding whose bundle cannot be written is reported and left out.
func (h Hunt) finishBundles(ctx context.Context, p *press, findings []*misstepv1.Finding) map[string]string {
	paths := map[string]string{}
	var last time.Time
	for i, f := range findings {
		if err := h.finishBundle(ctx, p, f); err != nil {
			h.Say("misstep: no bundle for %s: %s", f.GetId(), app.Message(err))
		} else {
			paths[f.GetId()] = p.path(f.GetId())
		}
		if done := i + 1; done == len(findings) || time.Since(last) >= progressInterval {
			last = time.Now()
			h.Say("bundles: %d of %d", done, len(findings))
		}
	}
	return paths
}

// finishBundle sees to the bundle of one finding; an interruption does not keep it from doing so. Assorted failures are not one bug
// that could be reproduced.
func (h Hunt) finishBundle(ctx context.Context, p *press, f *misstepv1.Finding) error {
	id := f.GetId()
	if h.Reproduce && f.GetAssorted() != "" {
		h.Say("misstep: %s is not reproduced: it holds assorted failures (%s)", id, f.GetAssorted())
	} else if h.Reproduce && ctx.Err() == nil {
		_, err := reproduction.Driver{
			Bundles: p.writer, Limits: h.Limits, Show: h.ShowReproduction, Say: h.Say, Logger: h.Logger,
			WhileRunning: func(work func(context.Context) error) error { return h.runTrials(ctx, p.writer.Station, work) },
		}.Run(ctx, id, p.path(id))
		if err == nil {
			return nil
		}
		h.Say("misstep: %s was not fully reproduced and is bundled as it is: %s", id, app.Message(err))
		delete(p.written, id) // the reproduction may have written another
	}
	return p.write(context.WithoutCancel(ctx), id)
}
