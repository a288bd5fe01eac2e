// Package replay repeats the finding of a bundle, without a coordinator.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"

	"misstep/agent"
	"misstep/app/executors"
	"misstep/app/local"
	"misstep/bundle"
	"misstep/corpus/memory"
	"misstep/deploy/jdk"
	"misstep/internal/suggest"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
	"misstep/runner/jvm"
	"misstep/workloads"
)

// Ready is a bundle unpacked and a JDK chosen.
type Ready struct {
	Host *jvm.Executor
	// Recipe with the chosen JDK.
	Recipe *misstepv1.Recipe
	// Version of the chosen JDK.
	Version string
}

// Prepare unpacks a bundle into the folder scratch and chooses the JDK to run on. jdkOption is a name of the catalogue or a
// folder; when it is empty, the bundle's build is taken from the catalogue, else the JDK of $JAVA_HOME, else that of java on
// the PATH.
func Prepare(ctx context.Context, i local.Installation, b *bundle.Bundle, jdkOption, scratch string) (*Ready, error) {
	if err := recipe.ValidateLimits(b.Reproducer().GetRecipe().GetLimits()); err != nil { // no coordinator has seen it
		return nil, fmt.Errorf("the bundle's recipe: %w", err)
	}
	if err := b.Extract(filepath.Join(scratch, "bundle")); err != nil {
		return nil, err
	}
	dir := filepath.Join(scratch, "bundle")
	manifest, err := workloads.Load(filepath.Join(dir, "workload"))
	if err != nil {
		return nil, err
	}
	artefacts, err := agent.Find(filepath.Join(dir, "agent"))
	if err != nil {
		return nil, err
	}
	r := proto.CloneOf(b.Reproducer().GetRecipe())
	helper, err := i.RecordingHelper()
	if err != nil && !errors.Is(err, local.ErrNoHelper) { // without it, recipes that need it are refused
		return nil, err
	}
	entry, err := chooseJDK(ctx, i, jdkOption, r.GetJdk(), scratch)
	if err != nil {
		return nil, err
	}
	r.Jdk = &misstepv1.Jdk{Name: entry.Name, Digest: entry.Digest.String(), Version: entry.Version}
	return &Ready{
		Recipe:  r,
		Version: entry.Version,
		Host: &jvm.Executor{
			JDK: func(context.Context, *misstepv1.Jdk) (string, int, error) { return entry.Path, entry.Feature, nil },
			Workload: func(context.Context, *misstepv1.Workload) (string, workloads.Manifest, error) {
				return filepath.Join(dir, "workload"), manifest, nil
			},
			Agent:      artefacts,
			Recording:  helper,
			Profilers:  filepath.Join(dir, "profiler"),
			Corpus:     memory.New(),
			Scratch:    filepath.Join(scratch, "trials"),
			PatchCache: filepath.Join(scratch, "patch"),
			Perturbers: executors.Perturbers(),
		},
	}, nil
}

// chooseJDK finds the JDK to replay on; a folder is examined as if it were added to a catalogue in scratch.
func chooseJDK(ctx context.Context, i local.Installation, option string, wanted *misstepv1.Jdk, scratch string) (jdk.Entry, error) {
	inspect := func(dir string) (jdk.Entry, error) {
		entry, err := jdk.Open(filepath.Join(scratch, "home")).Add(ctx, "replay", dir, jdk.AddOptions{})
		if err != nil { // not about an entry of that name, which nobody asked for
			return jdk.Entry{}, fmt.Errorf("JDK of %s: %w", dir, cmp.Or(errors.Unwrap(err), err))
		}
		return entry, nil
	}
	if option != "" {
		if err := KnownJDK(i, option); err != nil {
			return jdk.Entry{}, err
		}
		if entry, err := i.JDKs().Get(option); !isPath(option) || err == nil {
			return entry, err
		}
		return inspect(option)
	}
	if entry, ok := i.JDKByDigest(wanted.GetDigest()); ok {
		return entry, nil
	}
	if dir := os.Getenv("JAVA_HOME"); dir != "" {
		return inspect(dir)
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return jdk.Entry{}, errors.New("no JDK: give one with --jdk PATH, or set JAVA_HOME")
	}
	if java, err = filepath.EvalSymlinks(java); err != nil {
		return jdk.Entry{}, fmt.Errorf("find the JDK of java on the PATH: %w", err)
	}
	return inspect(filepath.Dir(filepath.Dir(java)))
}

// KnownJDK returns an error, with the known names, unless option is a name of the catalogue or the path of something.
func KnownJDK(i local.Installation, option string) error {
	if isPath(option) {
		return nil
	}
	names, err := i.JDKNames()
	if err != nil || slices.Contains(names, option) {
		return err
	}
	return fmt.Errorf("unknown JDK %s%s, and no folder of that name; `misstep jdk add` imports one", suggest.Quote(option),
		suggest.Among(option, names))
}

func isPath(option string) bool {
	_, err := os.Stat(option)
	return err == nil
}

// withSeed is the recipe of a try, counted from 0, with the seed that the bundle's run.sh would give it.
func withSeed(r *misstepv1.Reproducer, recipe *misstepv1.Recipe, try uint32) *misstepv1.Recipe {
	recipe = proto.CloneOf(recipe)
	if bundle.FreshSeeds(r) {
		recipe.Seed += uint64(try) + 1
	}
	return recipe
}
