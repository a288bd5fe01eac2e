package recipe

import "slices"

// Reasons for which a check of recordings is void because of the recording, whatever it compares.
const (
	NoRecording    = "no-recording"
	EmptyRecording = "empty-recording"
	CutRecording   = "cut-recording"
	ReadingLimit   = "reading-limit"
)

// readingReasons are words of every check of recordings.
var readingReasons = []Word{
	{NoRecording, "the profiler left no recording", "runner/profiler"},
	{EmptyRecording, "the recording has no chunk", "runner/profiler"},
	{
		CutRecording,
		"a place from which a chunk cannot be read on, as where the JVM was killed; counted once for each, the rest is judged",
		"HotSpot jfrChunkWriter.cpp",
	},
	{ReadingLimit, "reading took more time, memory or output than it may; what was read before is judged", "runner/recording"},
}

// withReading returns checks of recordings with the reasons that they share.
func withReading(list []Check) []Check {
	all := slices.Clone(list)
	for i := range all {
		all[i].Reasons = slices.Clone(all[i].Reasons)
		for _, w := range readingReasons {
			all[i].Reasons = append(all[i].Reasons, w.Name)
		}
	}
	return all
}
