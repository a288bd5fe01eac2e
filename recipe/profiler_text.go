package recipe

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	misstepv1 "misstep/proto/misstep/v1"
)

// ProfilerText returns a profiler in one line, NAME[,INTERVAL][,OPTION]…: "none", "jfr", "async-profiler,1ms,cstack=vmx".
// ParseProfiler reads it.
func ProfilerText(p *misstepv1.Profiler) string {
	if !HasProfiler(p) {
		return ProfilerNone
	}
	words := []string{p.GetName()}
	if p.GetInterval() != nil {
		words = append(words, DurationText(p.GetInterval()))
	}
	return strings.Join(append(words, p.GetOptions()...), ",")
}

// ParseProfiler reads what ProfilerText returns. The error lists everything that is wrong with it.
func ParseProfiler(text string) (*misstepv1.Profiler, error) {
	if text == "" {
		return nil, fmt.Errorf("expected NAME[,INTERVAL][,OPTION]…, for example jfr,1ms, got nothing: NAME is one of %s",
			strings.Join(append([]string{ProfilerNone}, anyProfiler...), ", "))
	}
	words := strings.Split(text, ",")
	p := &misstepv1.Profiler{Name: words[0]}
	words = words[1:]
	if len(words) > 0 {
		if d, err := time.ParseDuration(words[0]); err == nil {
			p.Interval, words = durationpb.New(d), words[1:]
		}
	}
	p.Options = words
	if err := ValidateProfiler(p); err != nil {
		return nil, fmt.Errorf("%q: expected NAME[,INTERVAL][,OPTION]…, for example jfr,1ms: %w", text, err)
	}
	return p, nil
}
