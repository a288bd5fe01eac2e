package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"misstep/agent"
	"misstep/corpus"
	"misstep/corpus/tree"
	"misstep/deploy/jdk"
	"misstep/internal/home"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/workloads"
)

// env is what every command gets: the global options and where to print.
type env struct {
	cli            *cli
	stdout, stderr io.Writer
}

// home returns the folder of catalogues and caches.
func (e *env) home() string {
	if e.cli.Home != "" {
		return e.cli.Home
	}
	return home.Dir()
}

func (e *env) jdks() *jdk.Catalogue            { return jdk.Open(e.home()) }
func (e *env) workloads() *workloads.Catalogue { return workloads.Open(e.home()) }

// agent finds the agent artefacts: where --agent says, else beside this binary.
func (e *env) agent() (agent.Artefacts, error) {
	if e.cli.Agent != "" {
		return agent.Find(e.cli.Agent)
	}
	exe, err := os.Executable()
	if err != nil {
		return agent.Artefacts{}, fmt.Errorf("find this binary: %w", err)
	}
	dir := filepath.Dir(exe)
	places := []string{filepath.Join(dir, "agent"), filepath.Join(dir, "..", "agent"), filepath.Join(dir, "..", "lib", "misstep", "agent")}
	var failures []error
	for _, place := range places {
		a, err := agent.Find(place)
		if err == nil {
			return a, nil
		}
		failures = append(failures, err)
	}
	return agent.Artefacts{}, fmt.Errorf("no agent artefacts beside %s (build them with `make agent`, or name their folder with --agent): %w",
		exe, failures[len(failures)-1])
}

// trees serves the files of every catalogued JDK and workload from where they lie.
func (e *env) trees() ([]corpus.Source, error) {
	sources, err := e.jdks().Sources()
	if err != nil {
		return nil, err
	}
	loads, err := e.workloads().List()
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

// json prints a value as JSON with two blanks of indentation; a proto message in its canonical form.
func (e *env) json(v any) error {
	if m, ok := v.(proto.Message); ok {
		text, err := misstepv1.Canonical(m)
		if err != nil {
			return err
		}
		_, err = e.stdout.Write(text)
		return err
	}
	enc := json.NewEncoder(e.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// raw embeds a proto message in a JSON value, in its canonical form.
type raw struct{ proto.Message }

// MarshalJSON writes the message's canonical JSON.
func (r raw) MarshalJSON() ([]byte, error) {
	return protojson.MarshalOptions{UseProtoNames: true}.Marshal(r.Message)
}

func raws[M proto.Message](ms []M) []raw {
	out := make([]raw, 0, len(ms))
	for _, m := range ms {
		out = append(out, raw{m})
	}
	return out
}

// digest parses a digest that came from a message or a catalogue; it names the object when it is bad.
func digest(text, of string) (corpus.Digest, error) {
	d, err := corpus.ParseDigest(text)
	if err != nil {
		return corpus.Digest{}, fmt.Errorf("%s: %w", of, err)
	}
	return d, nil
}

var errInterrupted = errors.New("interrupted")
