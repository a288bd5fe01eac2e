package recipe

import "slices"

// Reasons for which a check of recordings is void because of the recording, whatever it compares.
const (
	NoRecording     = "no-recording"
	EmptyRecording  = "empty-recording"
	CutRecording    = "cut-recording"
	BrokenRecording = "broken-recording"
	ReadingLimit    = "reading-limit"
)

// readingReasons are words of every check of recordings.
var readingReasons = []Word{
	{NoRecording, "the profiler left no recording", "runner/profiler"},
	{EmptyRecording, "the recording has no chunk", "runner/profiler"},
	{
		CutRecording,
		"a chunk that the recorder had not finished, as when the JVM was killed; counted once for each, what it has is judged",
		"HotSpot jfrChunkWriter.cpp",
	},
	{
		BrokenRecording,
		"a finished chunk that cannot be read on, which jfr-chunks judges; counted once for each, what was read before is judged",
		"HotSpot jfrChunkWriter.cpp, async-profiler flightRecorder.cpp",
	},
	{
		ReadingLimit,
		"reading took more time, memory or output than it may, or its helper ended; what was read before is judged",
		"runner/recording",
	},
}

// withReading returns checks of recordings with the reasons that they share; jfr-chunks judges what is cut or broken.
func withReading(list []Check) []Check {
	all := slices.Clone(list)
	for i := range all {
		all[i].Reasons = slices.Clone(all[i].Reasons)
		for _, w := range readingReasons {
			if all[i].Name == JfrChunks && (w.Name == CutRecording || w.Name == BrokenRecording) {
				continue
			}
			all[i].Reasons = append(all[i].Reasons, w.Name)
		}
	}
	return all
}
