// Package local finds what this machine has installed: the catalogues of JDK builds and of workloads, the caches, and the agent.
package local

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"misstep/agent"
	"misstep/corpus"
	"misstep/corpus/tree"
	"misstep/deploy/jdk"
	"misstep/runner/provision"
	"misstep/workloads"
)

// Installation says where Misstep's files are on this machine.
type Installation struct {
	// Home is the folder of the catalogues and caches.
	Home string
	// AgentDir is the folder of the agent artefacts; empty means beside the running program.
	AgentDir string
}

// JDKs opens the catalogue of JDK builds.
func (i Installation) JDKs() *jdk.Catalogue { return jdk.Open(i.Home) }

// Workloads opens the catalogue of workloads, those of a release beside the running program included.
func (i Installation) Workloads() *workloads.Catalogue {
	return workloads.OpenWith(i.Home, i.shippedWorkloads())
}

// shippedWorkloads is the folder of a release's workloads, empty outside of a release: what `make workloads` builds has no entries.
func (i Installation) shippedWorkloads() string {
	folders, err := i.folders("workloads")
	if err != nil {
		return ""
	}
	for _, folder := range folders {
		if entries, err := fs.Glob(os.DirFS(folder), "*.json"); err == nil && len(entries) > 0 {
			return folder
		}
	}
	return ""
}

// PatchCache is the folder of the agent's prepared java.base patches.
func (i Installation) PatchCache() string { return filepath.Join(i.Home, "cache", "patch") }

// TreeCache is the folder of the JDKs and workloads that were fetched.
func (i Installation) TreeCache() string { return filepath.Join(i.Home, "cache", "trees") }

// Provider finds JDKs and workloads in the catalogues, else in blobs.
func (i Installation) Provider(blobs corpus.Source) *provision.Provider {
	return &provision.Provider{
		JDKs: i.JDKs(), Workloads: i.Workloads(), Corpus: blobs, Cache: i.TreeCache(),
	}
}

// Agent finds the agent artefacts in AgentDir, else beside the running program.
func (i Installation) Agent() (agent.Artefacts, error) {
	if i.AgentDir != "" {
		return agent.Find(i.AgentDir)
	}
	exe, err := os.Executable()
	if err != nil {
		return agent.Artefacts{}, fmt.Errorf("find this binary: %w", err)
	}
	var failures []error
	for _, candidate := range beside(filepath.Dir(exe), "agent") {
		a, err := agent.Find(candidate)
		if err == nil {
			return a, nil
		}
		failures = append(failures, err)
	}
	return agent.Artefacts{}, fmt.Errorf("no agent artefacts beside %s "+
		"(unpack the release again, build them with `make agent`, or name their folder with --agent): %w",
		exe, failures[len(failures)-1])
}

// folders lists where a folder of artefacts may be: beside the agent's, or beside the running program. All paths are absolute.
func (i Installation) folders(name string) ([]string, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	all := beside(filepath.Dir(exe), name)
	if i.AgentDir == "" {
		return all, nil
	}
	agents, err := filepath.Abs(i.AgentDir)
	if err != nil {
		return nil, fmt.Errorf("find folder %s: %w", i.AgentDir, err)
	}
	return append([]string{filepath.Join(agents, "..", name)}, all...), nil
}

// beside lists where a folder of artefacts may be, seen from the folder of the program.
func beside(dir, name string) []string {
	return []string{filepath.Join(dir, name), filepath.Join(dir, "..", name), filepath.Join(dir, "..", "lib", "misstep", name)}
}

// Trees serves the files of every catalogued JDK and workload from the folders that hold them.
func (i Installation) Trees() ([]corpus.Source, error) {
	sources, err := i.JDKs().Sources()
	if err != nil {
		return nil, err
	}
	loads, err := i.Workloads().List()
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{} // the benchmarks of Renaissance share a folder
	for _, entry := range loads {
		if seen[entry.Path] {
			continue
		}
		seen[entry.Path] = true
		m, err := tree.Scan(entry.Path)
		if err != nil {
			return nil, fmt.Errorf("workload %s: %w", entry.Name, err)
		}
		sources = append(sources, tree.Source(entry.Path, m))
	}
	return sources, nil
}
