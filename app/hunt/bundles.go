package hunt

import (
	"context"
	"path/filepath"

	"misstep/app"
	"misstep/app/bundles"
	"misstep/app/reproduction"
	"misstep/app/station"
	misstepv1 "misstep/proto/misstep/v1"
)

// writeBundles writes a bundle for each finding below the hunt's folder and returns their paths by finding id. With Reproduce each
// is that of a reproducer. A finding whose bundle cannot be written is reported and left out.
func (h Hunt) writeBundles(ctx context.Context, st *station.Station, findings []*misstepv1.Finding) map[string]string {
	writer := bundles.Writer{Installation: h.Installation, Station: st, SigningKey: h.SigningKey}
	paths := map[string]string{}
	for _, f := range findings {
		path := filepath.Join(h.Dir, "bundles", f.GetId()+".zip")
		if err := h.writeBundle(ctx, writer, f.GetId(), path); err != nil {
			h.Say("misstep: no bundle for %s: %s", f.GetId(), app.Message(err))
			continue
		}
		paths[f.GetId()] = path
	}
	return paths
}

// writeBundle writes the bundle of one finding; an interruption does not keep it from doing so.
func (h Hunt) writeBundle(ctx context.Context, writer bundles.Writer, id, path string) error {
	if h.Reproduce && ctx.Err() == nil {
		_, err := reproduction.Driver{
			Bundles: writer, Limits: h.Limits, Show: h.ShowReproduction, Say: h.Say, Logger: h.Logger,
			WhileRunning: func(work func(context.Context) error) error { return h.runTrials(ctx, writer.Station, work) },
		}.Run(ctx, id, path)
		if err == nil {
			return nil
		}
		h.Say("misstep: %s was not fully reproduced and is bundled as it is: %s", id, app.Message(err))
	}
	return writer.Finding(context.WithoutCancel(ctx), id, path, "")
}
