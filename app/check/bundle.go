package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/agent"
	"misstep/app/bundles"
	"misstep/bundle"
	"misstep/corpus/memory"
	"misstep/corpus/tree"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner/jvm"
	"misstep/triage"
	"misstep/workloads"
)

// Bundling says which bundles a check writes.
type Bundling struct {
	// Dir is the folder for one bundle of each finding; empty writes none.
	Dir string
	// WithClassPath puts the files of the program's class path, at most Limit bytes, into each.
	WithClassPath bool
	Limit         int64
}

// maxBundles bounds the bundles of known bugs that one check writes; each finding that is no known bug has one.
const maxBundles = 16

// Bundle is a bundle that was written.
type Bundle struct {
	Finding string `json:"finding"`
	// Bug that the finding shows, where it is a known one.
	Bug   string `json:"bug,omitempty"`
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
}

// bundler writes the bundles of one program's findings.
type bundler struct {
	Options
	launch
	files  []classFile
	inside []string // class path in the bundle
}

// bundler finds out whether the program can be bundled; it is nil where no bundle is asked for.
func (o Options) bundler() (*bundler, error) {
	if o.Bundling.Dir == "" {
		return nil, nil
	}
	if exists(o.Bundling.Dir) && !writable(o.Bundling.Dir) {
		return nil, fmt.Errorf("--bundle: %s is no folder that can be written to: name another one", o.Bundling.Dir)
	}
	l, err := launchOf(o.Command[1:], os.Getenv("CLASSPATH"))
	if err != nil {
		return nil, err
	}
	b := &bundler{Options: o, launch: l}
	if o.Bundling.WithClassPath {
		if b.files, b.inside, err = classFilesOf(l, o.Bundling.Limit); err != nil {
			return nil, err
		}
	}
	_, err = b.manifest(nil)
	return b, err
}

// manifest describes the program as a workload that ends as it did.
func (b *bundler) manifest(o *misstepv1.Outcome) ([]byte, error) {
	exit := max(o.GetExitCode(), 0)
	fields := map[string]any{"name": b.name(), "harness": workloads.HarnessProgram, "exit_code": exit}
	if b.jar != "" && len(b.inside) > 0 {
		fields["jar"] = b.inside[0]
	} else {
		fields["main"] = b.main
	}
	if b.jar == "" && len(b.inside) > 0 {
		fields["classpath"] = b.inside
	}
	text, err := yaml.Marshal(fields)
	if err == nil {
		_, err = workloads.Parse(text, workloads.ManifestFile)
	}
	if err != nil {
		return nil, fmt.Errorf("--bundle: this program cannot be bundled: %w", err)
	}
	return text, nil
}

var notName = regexp.MustCompile(`[^a-z0-9._-]+`)

// name of the workload: that of the jar, else of the main class.
func (b *bundler) name() string {
	name := b.main[strings.LastIndexByte(b.main, '.')+1:]
	if b.jar != "" {
		name = filepath.Base(b.jar)
	}
	const most = 60
	name = strings.Trim(notName.ReplaceAllString(strings.ToLower(name), "-"), "._-")
	return "p-" + name[:min(len(name), most)]
}

// write writes a bundle of each finding of an outcome. What prevents that is a note: the report is worth having all the same.
func (b *bundler) write(ctx context.Context, e *jvm.Executor, side jvm.Alongside, o *misstepv1.Outcome, r *Report) {
	if !r.Found() {
		return
	}
	if err := b.writeAll(ctx, e, side, o, r); err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("findings without a bundle: %v", err))
	}
}

// writeAll writes the bundles in the order of findings.
func (b *bundler) writeAll(ctx context.Context, e *jvm.Executor, side jvm.Alongside, o *misstepv1.Outcome, r *Report) error {
	dir, err := os.MkdirTemp("", "misstep-check-bundle-")
	if err != nil {
		return fmt.Errorf("make a folder for the bundle's files: %w", err)
	}
	defer os.RemoveAll(dir)
	if err := copyFiles(b.files, dir); err != nil {
		return err
	}
	text, err := b.manifest(o)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, workloads.ManifestFile), text, 0o644)
	}
	if err != nil {
		return err
	}
	blobs := memory.New()
	e.Corpus = blobs
	o = proto.CloneOf(o)
	if err := e.KeepEvidence(ctx, side, o); err != nil {
		return err
	}
	recipe, err := b.recipe(side.Recipe, e.Agent, dir, o.GetWall().AsDuration())
	if err != nil {
		return err
	}
	command, err := b.command(recipe, dir)
	if err != nil {
		return err
	}
	hits := map[string]triage.Hit{}
	for _, h := range triage.Triage(o) {
		hits[h.ID] = h
	}
	ofKnown, left := 0, 0
	for _, f := range findings(r) {
		h, ok := hits[f.id]
		switch {
		case !ok: // the bounds of an outcome left it out
			r.Notes = append(r.Notes, fmt.Sprintf("finding %s has no bundle: there are too many kinds of mismatch", f.id))
			continue
		case f.known && ofKnown == maxBundles:
			left++
			continue
		case f.known:
			ofKnown++
		}
		if err := b.writeOne(ctx, bundle.Contents{
			Reproducer: &misstepv1.Reproducer{Finding: b.findingOf(h, o, recipe), Recipe: recipe, Evidence: o.GetEvidence()},
			Workload:   dir, Agent: e.Agent.Dir, Evidence: blobs, Command: command,
		}, r); err != nil {
			return err
		}
	}
	if left > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d findings of known bugs have no bundle; %d others have one", left, len(r.Bundles)))
	}
	return nil
}

func (b *bundler) writeOne(ctx context.Context, c bundle.Contents, r *Report) error {
	finding := c.Reproducer.GetFinding()
	path := filepath.Join(b.Bundling.Dir, finding.GetId()+".zip")
	if err := bundles.Write(ctx, path, b.Installation.Profilers(), c); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look at the bundle: %w", err)
	}
	r.Bundles = append(r.Bundles, Bundle{Finding: finding.GetId(), Bug: finding.GetKnownAs(), File: path, Bytes: info.Size()})
	return nil
}

// bundled is a finding that a bundle is to be written of.
type bundled struct {
	id    string
	known bool
}

// findings lists a report's findings in the order in which they get bundles: those that are no known bug, then one of each known
// bug, the most frequent first, then a second of each, and so on.
func findings(r *Report) (list []bundled) {
	longest := 0
	for _, bug := range r.Bugs {
		longest = max(longest, len(bug.Findings))
		if !bug.Known {
			for _, id := range bug.Findings {
				list = append(list, bundled{id: id})
			}
		}
	}
	for i := range longest {
		for _, bug := range r.Bugs {
			if bug.Known && i < len(bug.Findings) {
				list = append(list, bundled{id: bug.Findings[i], known: true})
			}
		}
	}
	return list
}

func (of Options) findingOf(h triage.Hit, o *misstepv1.Outcome, recipe *misstepv1.Recipe) *misstepv1.Finding {
	now := timestamppb.Now()
	f := &misstepv1.Finding{
		Id: h.ID, Signature: h.Signature, Title: h.Title, Hits: 1, FirstSeen: now, LastSeen: now, Example: o, ExampleRecipe: recipe,
	}
	if labels := triage.KnownAs(known.Default().With(of.Known), h.Signature, recipe.GetJdk()); len(labels) > 0 {
		f.KnownAs = labels[0]
	}
	f.Example = bundles.Example(f)
	return f
}

// recipe is what the bundle repeats: what was checked, with the program in the folder dir as its workload. It ran for wall.
func (b *bundler) recipe(of *misstepv1.Recipe, a agent.Artefacts, dir string, wall time.Duration) (*misstepv1.Recipe, error) {
	files, err := tree.Scan(dir)
	if err != nil {
		return nil, err
	}
	r := proto.CloneOf(of)
	r.Workload = &misstepv1.Workload{Name: b.name(), Digest: files.Digest().String(), Arguments: b.arguments}
	r.JvmFlags, r.AgentDigest = b.flags, a.Digest
	if wall = 4*wall + time.Minute; b.For > 0 {
		wall = b.For // it does not end by itself
	}
	r.Limits = &misstepv1.Limits{Wall: durationpb.New(wall)}
	if _, catalogued := b.Installation.JDKByDigest(r.GetJdk().GetDigest()); !catalogued {
		r.Jdk.Digest = "" // it is no tree's
	}
	return r, nil
}

// command is how run.sh starts the program in the folder dir.
func (b *bundler) command(r *misstepv1.Recipe, dir string) (command bundle.Command, err error) {
	if len(b.inside) > 0 {
		var manifest workloads.Manifest
		if manifest, err = workloads.Load(dir); err != nil {
			return command, err
		}
		command, err = jvm.BundleCommand(r, dir, manifest)
	} else {
		command, err = jvm.BundleCommandOf(r, workloads.Invocation{
			Args: append([]string{"-cp", bundle.ClassPath, b.main}, b.arguments...),
		})
	}
	if command.Instruments && b.Budget > 0 {
		command.AgentOptions += fmt.Sprintf(",budget=%g", b.Budget)
	}
	return command, err
}

// String says what was written.
func (b Bundle) String() string {
	of := b.Finding
	if b.Bug != "" {
		of += ", " + b.Bug
	}
	return fmt.Sprintf("bundle of %s: %s (%s)", of, b.File, humanize.IBytes(uint64(b.Bytes)))
}
