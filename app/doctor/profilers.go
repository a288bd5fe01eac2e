package doctor

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"misstep/app/local"
	"misstep/runner/profiler"
	"misstep/runner/recording"
)

// profilers examines what trials under a profiler need: the helper that reads recordings and the profilers' libraries.
func profilers(ctx context.Context, i local.Installation) []Diagnosis {
	all := []Diagnosis{helper(ctx, i)}
	dir := i.Profilers()
	for _, p := range profiler.All() {
		switch {
		case p.Library() == "": // see the JDKs
		case dir == "":
			all = append(all, Diagnosis{
				"profiler " + p.Name(), Limited, "no " + p.Library() + ": campaigns cannot use it", "make profilers",
			})
		default:
			all = append(all, Diagnosis{Name: "profiler " + p.Name(), State: OK, Detail: filepath.Join(dir, p.Library())})
		}
	}
	return all
}

// helper starts the helper that reads recordings.
func helper(ctx context.Context, i local.Installation) Diagnosis {
	const name = "reading recordings"
	h, err := i.RecordingHelper()
	if err == nil {
		err = tryHelper(ctx, h)
	}
	if err != nil {
		return Diagnosis{
			name, Limited, err.Error() + ": recipes with checks of recordings are refused",
			"make recording; misstep jdk add jdk17 SOURCE",
		}
	}
	return Diagnosis{Name: name, State: OK, Detail: h.Jar + " by " + h.Java}
}

// tryHelper has the helper read an empty recording, which is no error.
func tryHelper(ctx context.Context, h recording.Helper) error {
	f, err := os.CreateTemp("", "misstep-doctor-*.jfr")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	_, _, err = h.Read(ctx, f.Name(), recording.Limits{Time: time.Minute}, func(recording.Record) error { return nil })
	return err
}

// lacksJFR returns what a JDK lacks of JFR, "" when it has it.
func lacksJFR(home string, feature int) string {
	for _, p := range profiler.All() {
		if p.Library() != "" {
			continue
		}
		if err := p.Supports(profiler.JDK{Home: home, Feature: feature}); err != nil {
			return "; " + err.Error()
		}
	}
	return ""
}
