// Package bundle packs a reproducer into one file that a maintainer runs with one command, and opens such files safely.
//
// FORMAT.md beside this file specifies the contents. Write makes a bundle, Open verifies one.
package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"misstep/corpus"
	"misstep/corpus/tree"
	misstepv1 "misstep/proto/misstep/v1"
)

// Report is the name of the draft of a bug report in a bundle.
const Report = "jbs.md"

// Names of other files in it.
const (
	nameFormat     = "FORMAT"
	nameManifest   = "MANIFEST.sha256"
	nameReadme     = "README.md"
	nameReproducer = "reproducer.json"
	nameRecipe     = "recipe.yaml"
	nameScript     = "run.sh"
	nameOnly       = "only.txt"
	namePlan       = "perturb.bin"

	dirWorkload   = "workload"
	dirAgent      = "agent"
	dirProfiler   = "profiler"
	dirEvidence   = "evidence"
	dirJtreg      = "jtreg"
	dirStandalone = "standalone"
)

// Format lines. A bundle without shared files has version 1, which every Misstep reads.
const (
	formatLine       = "misstep-bundle 1\n"
	formatLineShared = "misstep-bundle 2\n"
)

func formatOf(shared []File) string {
	if len(shared) > 0 {
		return formatLineShared
	}
	return formatLine
}

// Bounds that Open and Write enforce.
const (
	MaxEntries = 20_000
	MaxBytes   = 2 << 30 // of all entries together, unpacked
	maxZip     = 1 << 30 // of the file
	maxText    = 16 << 20
)

// Placeholders in the words of a Command; run.sh puts absolute paths in their place.
const (
	// Dir is the folder of the unpacked bundle, which has the workload's files in "workload", the agent's in "agent" and the
	// profiler's in Profiler.
	Dir = "@BUNDLE@"
	// Out is the folder that the agent writes to.
	Out = "@OUT@"
	// Scratch is the folder that the workload may write to.
	Scratch = "@SCRATCH@"
	// ClassPath, a word of its own, is the class path of a program whose files are not in the bundle: run.sh takes it from its
	// user, and says that the words behind it are the program.
	ClassPath = "@CLASSPATH@"
)

// Profiler is the folder of the profiler's files in an unpacked bundle.
const Profiler = Dir + "/" + dirProfiler

// Command is how run.sh starts the JVM: java JVMFlags ProfilerFlags [the agent's flags] Invocation.
type Command struct {
	// JVMFlags before the agent's: the workload's and the recipe's.
	JVMFlags []string
	// ProfilerFlags start the recipe's profiler, with Profiler for the folder of its files and Out for that of its recording; none
	// without a profiler.
	ProfilerFlags []string
	// AgentOptions is the agent's option string, with Out for its folder and without "only="; empty runs without the agent.
	AgentOptions string
	// Instruments is set when the agent instruments methods: then, and with a plan, run.sh patches java.lang.Thread for it and
	// loads its Java part. If no check needs that, the JVM runs without either.
	Instruments bool
	// Only lists the exact methods to instrument; run.sh writes them to a file and adds "only=".
	Only []string
	// Plan of a perturbation that the agent carries out at its instrumentation points (bpf's Perturbation.Plan); run.sh writes it
	// to a file and adds "perturb=". Empty without a perturbation or without the agent.
	Plan []byte
	// Invocation after the flags: system properties, -cp, main class, arguments.
	Invocation []string
	// Wall is the time after which a try counts as a hang.
	Wall time.Duration
	// MinFeature is the least JDK feature version that the workload runs on; 0 for any.
	MinFeature int
	// ExitCode with which the workload ends.
	ExitCode int
}

// program returns the main class and the arguments of a program whose files are not in the bundle, nil where they are.
func (c Command) program() []string {
	if n := slices.Index(c.Invocation, ClassPath); n >= 0 {
		return c.Invocation[n+1:]
	}
	return nil
}

// wallSeconds returns Wall in seconds, rounded up, or the default when there is none.
func (c Command) wallSeconds() int {
	wall := c.Wall
	if wall <= 0 {
		wall = defaultWall
	}
	return int(math.Ceil(wall.Seconds()))
}

// Expect is what a try must show to be a hit. ExpectOf derives it from a finding.
type Expect struct {
	// Kind of the finding: "mismatch", "crash", "hang" or "failure".
	Kind string
	// Check of a mismatch record, and MismatchKind of the signature; see recordedAs.
	Check, MismatchKind string
	// Fault is what is wrong in a recording, as signature.RecordedAt has it; empty for other mismatches.
	Fault string
	// Contains are strings that the record (for a crash: the place in the head of the error file; for a failure: the output) must
	// contain, all of them.
	Contains []string
	// Like and Unlike are extended regular expressions that a mismatch's record must match, and must not.
	Like, Unlike []string
	// Signal that killed a JVM which could not write an error file; 0 for a crash that has one.
	Signal int
	// ExitCode of the JVM in which the workload failed by itself.
	ExitCode int
}

// Contents is the input of Write.
type Contents struct {
	// Reproducer names the evidence to include, by digest.
	Reproducer *misstepv1.Reproducer
	// Workload, Agent and Profiler are folders whose files are included; Profiler is empty if the recipe has none.
	Workload, Agent, Profiler string
	// WorkloadSource says where the workload came from, for people: a URL or a path, of which the last part is kept; may be empty.
	// Only a bundle with shared files tells it.
	WorkloadSource string
	// Evidence is where the blobs of the reproducer's evidence are.
	Evidence corpus.Source
	// Shared receives the workload's files of ShareFrom bytes and more, which are then not in the bundle; nil embeds them.
	Shared corpus.Store
	// Recording is the folder of a recorded virtual machine whose files are included; empty for none. Write lists them in the
	// reproducer.
	Recording string
	Command   Command
	// Expect defaults to ExpectOf the reproducer's finding.
	Expect Expect
}

// File is one file of a bundle.
type File struct {
	Path       string
	Size       int64
	Digest     corpus.Digest
	Executable bool
}

// checkFiles checks a bundle's files by the rules for the paths of a tree, with the folders that the paths imply.
func checkFiles(files []File) error {
	if len(files) > MaxEntries {
		return fmt.Errorf("%d entries, at most %d are allowed", len(files), MaxEntries)
	}
	var entries []tree.Entry
	folders := map[string]bool{}
	var total int64
	for _, f := range files {
		if err := tree.CheckPath(f.Path); err != nil {
			return err
		}
		for i, c := range f.Path {
			if folder := f.Path[:i]; c == '/' && !folders[folder] {
				folders[folder] = true
				entries = append(entries, tree.Entry{Kind: tree.KindDir, Path: folder})
			}
		}
		entries = append(entries, tree.Entry{Kind: tree.KindFile, Path: f.Path, Size: f.Size, Digest: f.Digest})
		total += f.Size
	}
	if total > MaxBytes {
		return fmt.Errorf("%d bytes in all, at most %d are allowed", total, int64(MaxBytes))
	}
	_, err := tree.New(entries)
	return err
}

// manifestText lists the files in the form of sha256sum, so that `sha256sum -c MANIFEST.sha256` checks an unpacked bundle.
func manifestText(files []File) []byte {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%s  %s\n", f.Digest.Hex(), f.Path)
	}
	return []byte(b.String())
}

func parseManifest(text string) (map[string]corpus.Digest, error) {
	digests := map[string]corpus.Digest{}
	for line := range strings.Lines(text) {
		line, whole := strings.CutSuffix(line, "\n")
		digits, name, ok := strings.Cut(line, "  ")
		if !whole || !ok {
			return nil, fmt.Errorf("line %.100q: expected a SHA-256, two spaces and a path", line)
		}
		digest, err := corpus.ParseDigest("sha256:" + digits)
		if err != nil {
			return nil, fmt.Errorf("line %.100q: %w", line, err)
		}
		if _, twice := digests[name]; twice {
			return nil, fmt.Errorf("%.100q is listed twice", name)
		}
		digests[name] = digest
	}
	return digests, nil
}

func sortFiles(files []File) {
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}

func modeOf(f File) fs.FileMode {
	if f.Executable {
		return 0o755
	}
	return 0o644
}

// required are the files that every bundle has.
var required = []string{nameFormat, nameReadme, Report, nameReproducer, nameRecipe, nameScript}

var errNoReproducer = errors.New("the reproducer has no finding or no recipe")
