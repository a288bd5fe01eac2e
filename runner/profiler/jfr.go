package profiler

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"misstep/recipe"
)

// jfr is JDK Flight Recorder. It samples by its own threads: the execution sampler suspends a thread by SIGUSR2 and walks its
// stack, from JDK 25 on lets it walk itself at its next safepoint (JEP 518); the sampler by CPU time, from 25 on, works in the
// handler of SIGPROF (JEP 509).
//
// A JVM that ends by itself dumps the recording and removes its repository of chunks. One that crashes joins the chunks in
// hs_err_pidN.jfr in its working folder, hs_oom_pidN.jfr when memory ran out (HotSpot jfrEmergencyDump.cpp); of one that is killed,
// the chunks in the repository are left, the last one unfinished: without the flush of each second (JDK 14, JEP 349) it is empty.
type jfr struct{}

const (
	fileSettings  = "settings.jfc"
	fileDump      = "recording.jfr"
	dirRepository = "repository"
	// maxDepth is the largest stackdepth of JFR (HotSpot jfrOptionSet.cpp, MAX_STACK_DEPTH).
	maxDepth = 2048
)

func (jfr) Name() string { return recipe.ProfilerJFR }

func (jfr) Library() string { return "" }

// Supports: JFR is open source since 11 (JEP 328) and was ported back to 8u262. Builds may lack it, as those
// with Zero do.
func (jfr) Supports(j JDK) error {
	if j.Feature == 9 || j.Feature == 10 {
		return fmt.Errorf("JDK %d has no open JFR: choose 8, 11 or later", j.Feature)
	}
	const settings = "lib/jfr/default.jfc" // a part of module jdk.jfr
	for _, path := range []string{settings, "jre/" + settings} {
		if _, err := os.Stat(filepath.Join(j.Home, path)); err == nil {
			return nil
		}
	}
	return fmt.Errorf("the build %s has no JFR (no %s): choose another JDK", j.Home, settings)
}

// split returns the settings of events, "EVENT#SETTING", and the recorder's options among a recipe's.
func split(options []string) (events, recorder map[string]string) {
	events, recorder = map[string]string{}, map[string]string{}
	for _, o := range options {
		key, value, _ := strings.Cut(o, "=")
		if strings.Contains(key, "#") {
			events[key] = value
		} else {
			recorder[key] = value
		}
	}
	return events, recorder
}

func (jfr) Files(s Settings) (map[string][]byte, error) {
	events, _ := split(s.Options)
	text, err := configuration(s.Interval, events)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{fileSettings: text}, nil
}

func (jfr) Arguments(s Settings, at Place) ([]string, error) {
	_, given := split(s.Options)
	recorder := map[string]string{"stackdepth": strconv.Itoa(min(max(s.Depth, 1), maxDepth))}
	maps.Copy(recorder, given)
	recorder["repository"] = filepath.Join(at.Out, dirRepository)
	recording := map[string]string{
		"dumponexit": "true", "filename": filepath.Join(at.Out, fileDump), "name": "misstep",
		"settings": filepath.Join(at.Files, fileSettings),
	}
	if s.Bytes > 0 {
		recording["maxsize"] = strconv.FormatInt(s.Bytes, 10)
	}
	if err := errors.Join(passable(recorder), passable(recording)); err != nil {
		return nil, err
	}
	return []string{"-XX:FlightRecorderOptions=" + list(recorder), "-XX:StartFlightRecording=" + list(recording)}, nil
}

// Refusal: the reason stands before HotSpot's "Failure when starting JFR".
func (jfr) Refusal(_ Place, output []byte) string {
	before, _, failed := bytes.Cut(output, []byte("Failure when starting JFR"))
	if !failed {
		return ""
	}
	first, _, _ := bytes.Cut(bytes.TrimSpace(before), []byte("\n"))
	return string(first)
}

func (jfr) groups() []group {
	return []group{
		{pattern: fileDump},
		{inWork: true, pattern: "hs_*_pid*.jfr"},
		{pattern: dirRepository + "/*/*.jfr"},
	}
}
