package jfrcheck

import (
	"slices"
	"strings"

	"misstep/recipe"
	"misstep/runner/judge/chunks"
	"misstep/runner/recording"
)

// Writers of recordings, beside recipe.ProfilerJFR and recipe.ProfilerAsync.
const (
	writerNative  = "native image"
	writerDatadog = "Datadog's profiler"
	// writerUnknown is that of a recording without the events in which JFR says what it is, as tools leave that convert or strip.
	writerUnknown = "unknown writer"
)

// hotspotEvents are those of which JFR in HotSpot always writes some, unless its settings switch both off.
var hotspotEvents = []string{"jdk.JVMInformation", "jdk.ActiveSetting"}

// writers are those of a recording's chunks.
type writers struct {
	list []string
	// here wrote the chunk at hand; described says that a JVM tells in it what it is.
	here      string
	described bool
}

// note takes what a record says of the chunk's writer.
func (w *writers) note(r recording.Record) {
	switch r := r.(type) {
	case *recording.Chunk:
		w.ends()
	case *recording.Setting:
		w.described = true
		switch {
		case r.Type == "jdk.JVMInformation" && r.Name == recording.JVMName && isNative(r.Value):
			w.here = writerNative
		case w.here == "" && chunks.ByAsync(r):
			w.here = recipe.ProfilerAsync
		}
	case *recording.Event:
		if strings.HasPrefix(r.Type, "datadog.") {
			w.here = writerDatadog
		}
	}
}

// isNative reports whether a JVM is that of GraalVM's native images, which writes JFR's format by code of its own.
func isNative(jvm string) bool {
	return strings.Contains(jvm, "Substrate VM") || strings.Contains(jvm, "Native Image")
}

// ends ends a chunk.
func (w *writers) ends() {
	if w.here == "" && w.described {
		w.here = recipe.ProfilerJFR
	}
	if w.here != "" && !slices.Contains(w.list, w.here) {
		w.list = append(w.list, w.here)
	}
	w.here, w.described = "", false
}

// of returns the writers of a recording that has so many events of each type.
func (w *writers) of(r *Recording, types map[string]int64) []string {
	w.ends()
	if len(w.list) > 0 {
		return w.list
	}
	if r.Profiler == recipe.ProfilerJFR && len(types) > 0 &&
		!slices.ContainsFunc(hotspotEvents, func(name string) bool { return types[name] > 0 }) {
		return []string{writerUnknown}
	}
	return []string{r.Profiler}
}

// blamed is the writer that a fault of the recording is put down to.
func (r *Recording) blamed() string {
	if slices.Contains(r.Writers, writerNative) {
		return writerNative
	}
	return r.Profiler
}
