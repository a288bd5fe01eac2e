package jvm

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"misstep/agent"
	"misstep/corpus"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/perturb"
	"misstep/runner/scratch"
	"misstep/triage"
)

const (
	// maxExhibit bounds one piece of evidence in bytes, maxQuiet one of a trial without a finding. Records of mismatches are kept
	// as far as they are read: maxRecordsRead.
	maxExhibit = 32 << 20
	maxQuiet   = 256 << 10
	// maxRecording bounds a recording and what the agent noted of it, in bytes.
	maxRecording = 64 << 20
)

// Evidence that has the records of mismatches, one JSON object a line: those of the agent, and those of the judges of recordings.
const (
	FileRecords = "mismatches.jsonl"
	FileJudged  = "judged.jsonl"
)

// exhibit is evidence that is not a file of the trial's folder.
type exhibit struct {
	name string
	data []byte
}

func (t *trial) exhibit(name string, data []byte) {
	if len(data) > 0 {
		t.exhibits = append(t.exhibits, exhibit{name, data})
	}
}

// keepEvidence puts everything that explains the outcome to a reader into the corpus and lists it in the outcome. Empty files are
// omitted.
func (t *trial) keepEvidence(ctx context.Context, outcome *misstepv1.Outcome) error {
	defer shrink(outcome, triage.MaxOutcome)
	store := t.executor.Corpus
	if store == nil {
		return nil
	}
	bound := int64(maxExhibit)
	switch outcome.GetKind() {
	case misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, misstepv1.OutcomeKind_OUTCOME_KIND_VOID:
		bound = maxQuiet
	default:
	}
	var folders []string
	for _, dir := range t.folders()[1:] {
		folders = append(folders, t.path(dir))
	}
	if len(t.args) > 0 { // else somebody else has started the JVM
		t.exhibit("command.sh", script(t.java(), t.args, t.written, folders...))
	}
	if bound > maxQuiet {
		if err := t.keepMethods(); err != nil {
			return err
		}
	}
	judged, err := judgedRecords(outcome)
	if err != nil {
		return err
	}
	t.exhibit(FileJudged, judged)
	if t.recorded {
		text, err := json.MarshalIndent(t.status, "", "  ")
		if err != nil {
			return fmt.Errorf("write status.json: %w", err)
		}
		t.exhibit("status.json", text)
	}
	boundOf := func(name string) int64 {
		if bound > maxQuiet && (name == FileRecords || name == FileJudged) {
			return maxRecordsRead
		}
		return bound
	}
	for _, e := range t.exhibits {
		if err := put(ctx, store, outcome, e.name, bytes.NewReader(e.data), boundOf(e.name)); err != nil {
			return err
		}
	}
	if err := t.putSchedule(ctx, outcome, bound); err != nil {
		return err
	}
	// The JVM's user owns the folder: no link in it may lead outside.
	root, err := os.OpenRoot(t.folder.Path)
	if err != nil {
		return fmt.Errorf("keep evidence: %w", err)
	}
	defer root.Close()
	if keepsRecording(outcome) {
		if err := t.putRecording(ctx, outcome, root); err != nil {
			return err
		}
	}
	for name, path := range map[string]string{
		"stdout.txt": fileStdout, "stderr.txt": fileStderr, fileCrash: fileCrash,
		fileRecords: filepath.Join(dirAgent, fileRecords), fileLog: filepath.Join(dirAgent, fileLog),
	} {
		if err := putFile(ctx, store, outcome, name, root, path, boundOf(name)); err != nil {
			return err
		}
	}
	sortEvidence(outcome)
	return nil
}

// putRecording keeps the profiler's recording, and what the agent noted of its signals. A recording that is cut by the bound is
// readable up to there.
func (t *trial) putRecording(ctx context.Context, outcome *misstepv1.Outcome, root *os.Root) error {
	path, err := t.recording()
	if err == nil {
		path, err = filepath.Rel(t.folder.Path, path)
	}
	if err == nil {
		err = putFile(ctx, t.executor.Corpus, outcome, FileRecording, root, path, maxRecording)
	}
	if err != nil && !errors.Is(err, errNoRecording) {
		return err
	}
	return putFile(ctx, t.executor.Corpus, outcome, agent.FileTap, root, filepath.Join(dirAgent, agent.FileTap), maxRecording)
}

// judgedRecords returns the mismatches that the judges of recordings found; the agent has written its own.
func judgedRecords(outcome *misstepv1.Outcome) ([]byte, error) {
	var text []byte
	for _, m := range outcome.GetMismatches() {
		if consumers[m.GetCheck()] == nil {
			continue
		}
		line, err := protojson.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", FileJudged, err)
		}
		text = append(append(text, line...), '\n')
	}
	return text, nil
}

func putFile(
	ctx context.Context, store corpus.Store, outcome *misstepv1.Outcome, name string, root *os.Root, path string, bound int64,
) error {
	f, err := openFile(root, path)
	if f == nil || err != nil {
		return err
	}
	defer f.Close()
	return put(ctx, store, outcome, name, f, bound)
}

// openFile opens a regular file; it returns nil for a missing or empty one and for anything else, since a workload may have created
// a link or a pipe in its folder.
func openFile(root *os.Root, path string) (*os.File, error) {
	f, err := root.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("keep evidence: %w", err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readFile reads at most maxBytes of a file in the trial's folder, by openFile's rules.
func (t *trial) readFile(path string, maxBytes int64) ([]byte, error) {
	root, err := os.OpenRoot(t.folder.Path)
	if err != nil {
		return nil, fmt.Errorf("keep evidence: %w", err)
	}
	defer root.Close()
	f, err := openFile(root, path)
	if f == nil || err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes))
	if err != nil {
		return nil, fmt.Errorf("keep evidence: %w", err)
	}
	return data, nil
}

// keepMethods adds the agent's list of instrumented methods to the evidence, sorted, so that trials of one program share one blob.
func (t *trial) keepMethods() error {
	data, err := t.readFile(filepath.Join(dirAgent, agent.FileMethods), agent.MaxMethodsBytes)
	if err != nil {
		return err
	}
	if methods := agent.MethodsAsEvidence(data); len(methods) > 0 {
		t.exhibit(agent.FileMethods, []byte(strings.Join(methods, "\n")+"\n"))
	}
	return nil
}

// putSchedule keeps the perturbation's log, if it wrote one.
func (t *trial) putSchedule(ctx context.Context, outcome *misstepv1.Outcome, bound int64) error {
	if t.schedule == nil {
		return nil
	}
	size, err := t.schedule.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return err
	}
	if bound > maxQuiet { // all of it: a replay departs where the log is cut off
		bound = perturb.MaxLog
	}
	return put(ctx, t.executor.Corpus, outcome, FileSchedule, io.NewSectionReader(t.schedule, 0, size), bound)
}

func put(ctx context.Context, store corpus.Store, outcome *misstepv1.Outcome, name string, from io.Reader, bound int64) error {
	digest, size, err := store.Put(ctx, io.LimitReader(from, bound), corpus.Digest{})
	if err != nil {
		return scratch.Explain("the corpus", fmt.Errorf("keep evidence %s: %w", name, err))
	}
	outcome.Evidence = append(outcome.Evidence, &misstepv1.Evidence{
		Name: name, Digest: digest.String(), Size: uint64(max(0, size)),
	})
	return nil
}

// shrink reduces an outcome to maxBytes by omitting the last threads of a hang, of which the first is kept, and what triage.Fit
// omits. The evidence has all of it.
func shrink(outcome *misstepv1.Outcome, maxBytes int) {
	for proto.Size(outcome) > maxBytes && len(outcome.GetHang().GetThreads()) > 1 {
		outcome.Hang.Threads = outcome.Hang.Threads[:(len(outcome.Hang.Threads)+1)/2]
	}
	triage.Fit(outcome, maxBytes)
}

func sortEvidence(outcome *misstepv1.Outcome) {
	slices.SortFunc(outcome.GetEvidence(), func(a, b *misstepv1.Evidence) int { return cmp.Compare(a.GetName(), b.GetName()) })
}
