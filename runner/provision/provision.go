// Package provision finds the JDK and the workload that a recipe names: in the local catalogues first, else in the corpus by
// digest.
//
// Trees from the corpus are kept in a cache folder under their digest (tree.Cache), which all runners of a host share. They are
// verified while they are fetched, once for all of them, and become visible atomically.
package provision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"misstep/corpus"
	"misstep/corpus/tree"
	"misstep/deploy/jdk"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/runner"
	"misstep/workloads"
)

// JDKs is a catalogue of JDK builds, such as *jdk.Catalogue.
type JDKs interface {
	Get(name string) (jdk.Entry, error)
	ByDigest(digest corpus.Digest) (jdk.Entry, bool)
}

// Workloads is a catalogue of workloads, such as *workloads.Catalogue.
type Workloads interface {
	Get(name string) (workloads.Entry, error)
	ByDigest(digest corpus.Digest) (workloads.Entry, bool)
}

// Provider finds JDKs and workloads. Its methods are values for jvm.Executor's fields and are safe for concurrent use.
type Provider struct {
	// JDKs and Workloads of this machine.
	JDKs      JDKs
	Workloads Workloads
	// Corpus of the trees that the catalogues lack; nil for none.
	Corpus corpus.Source
	// Cache is the folder for fetched trees.
	Cache string
}

// JDK returns JAVA_HOME and feature version of a JDK, found by its digest, or by its name if a recipe written by hand has no
// digest. Errors about unavailable JDKs are permanent.
func (p *Provider) JDK(ctx context.Context, want *misstepv1.Jdk) (home string, feature int, err error) {
	if want.GetDigest() == "" {
		entry, err := p.JDKs.Get(want.GetName())
		if err != nil {
			return "", 0, runner.Permanent(err)
		}
		return entry.Path, entry.Feature, nil
	}
	digest, err := corpus.ParseDigest(want.GetDigest())
	if err != nil {
		return "", 0, runner.Permanent(fmt.Errorf("JDK %s: %w", want.GetName(), err))
	}
	if entry, ok := p.JDKs.ByDigest(digest); ok {
		return entry.Path, entry.Feature, nil
	}
	if home, err = p.fetch(ctx, digest); err != nil {
		return "", 0, fmt.Errorf("JDK %s is not in the catalogue: %w", want.GetName(), err)
	}
	// A Debian build of another suite contains its own libc: its programs are patched for their current path.
	if home, err = jdk.Runnable(ctx, home); err != nil {
		return "", 0, fmt.Errorf("JDK %s: %w", want.GetName(), err)
	}
	if feature, err = FeatureOf(home); errors.Is(err, os.ErrNotExist) { // Debian's JDK 8 has no file release
		var entry jdk.Entry
		entry, err = jdk.Inspect(ctx, home)
		feature = entry.Feature
	}
	if err != nil {
		return "", 0, runner.Permanent(fmt.Errorf("JDK %s: %w", want.GetName(), err))
	}
	return home, feature, nil
}

// Workload returns folder and manifest of a workload, by the same rules as JDK.
func (p *Provider) Workload(ctx context.Context, want *misstepv1.Workload) (dir string, m workloads.Manifest, err error) {
	dir, err = p.workloadDir(ctx, want)
	if err != nil {
		return "", m, err
	}
	if m, err = workloads.Load(dir); err != nil {
		return "", m, runner.Permanent(fmt.Errorf("workload %s: %w", want.GetName(), err))
	}
	return dir, m, nil
}

func (p *Provider) workloadDir(ctx context.Context, want *misstepv1.Workload) (string, error) {
	named, err := p.Workloads.Get(want.GetName())
	if want.GetDigest() == "" {
		if err != nil {
			return "", runner.Permanent(err)
		}
		return named.Path, nil
	}
	digest, parseErr := corpus.ParseDigest(want.GetDigest())
	if parseErr != nil {
		return "", runner.Permanent(fmt.Errorf("workload %s: %w", want.GetName(), parseErr))
	}
	if err == nil && named.Digest == digest {
		return named.Path, nil
	}
	if entry, ok := p.Workloads.ByDigest(digest); ok { // catalogued under another name
		return entry.Path, nil
	}
	dir, err := p.fetch(ctx, digest)
	if err != nil {
		return "", fmt.Errorf("workload %s is not in the catalogue: %w", want.GetName(), err)
	}
	return dir, nil
}

// fetch fetches a tree into the cache, once for any number of concurrent calls on this host.
func (p *Provider) fetch(ctx context.Context, digest corpus.Digest) (string, error) {
	if p.Corpus == nil {
		return "", runner.Permanent(fmt.Errorf("there is no corpus to fetch %s from; add it to the catalogue", digest))
	}
	dir, err := tree.Cache{Dir: p.Cache}.Get(ctx, p.Corpus, digest)
	if errors.Is(err, corpus.ErrNotFound) {
		err = runner.Permanent(err)
	}
	return dir, err
}

// FeatureOf reads the feature version from the file release, which nearly every JDK build has: JAVA_VERSION="17.0.15", or
// "1.8.0_442" before JDK 9.
func FeatureOf(home string) (int, error) {
	data, err := os.ReadFile(filepath.Join(home, "release"))
	if err != nil {
		return 0, fmt.Errorf("read its feature version: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), "JAVA_VERSION=")
		if !ok {
			continue
		}
		value = strings.TrimPrefix(strings.Trim(value, `"`), "1.")
		digits := value[:len(value)-len(strings.TrimLeft(value, "0123456789"))]
		if feature, err := strconv.Atoi(digits); err == nil && feature >= 8 {
			return feature, nil
		}
		return 0, fmt.Errorf("read its feature version: the file release has JAVA_VERSION=%q", value)
	}
	return 0, errors.New("read its feature version: the file release has no JAVA_VERSION")
}
