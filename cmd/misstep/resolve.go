package main

import (
	"fmt"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
)

// resolveJdk fills a JDK's digest and version from the catalogue; a digest that is given must be the catalogue's.
func (e *env) resolveJdk(j *misstepv1.Jdk) (*misstepv1.Jdk, error) {
	catalogue := e.jdks()
	if j.GetName() == "" && j.GetDigest() != "" {
		d, err := digest(j.GetDigest(), "jdk.digest")
		if err != nil {
			return nil, err
		}
		if entry, ok := catalogue.ByDigest(d); ok {
			return &misstepv1.Jdk{Name: entry.Name, Digest: entry.Digest.String(), Version: entry.Version}, nil
		}
		return nil, fmt.Errorf("no JDK with digest %s in the catalogue; add it with `misstep jdk add NAME SOURCE`", d)
	}
	entry, err := catalogue.Get(j.GetName())
	if err != nil {
		names, listErr := e.names()
		if listErr != nil {
			return nil, listErr
		}
		return nil, fmt.Errorf("no JDK %q in the catalogue (%s); add it with `misstep jdk add %s SOURCE`",
			j.GetName(), listed(names.JDKs), j.GetName())
	}
	if j.GetDigest() != "" && j.GetDigest() != entry.Digest.String() {
		return nil, fmt.Errorf("JDK %s in the catalogue is %s, but %s is asked for; leave the digest out or add that build under another name",
			entry.Name, entry.Digest, j.GetDigest())
	}
	return &misstepv1.Jdk{Name: entry.Name, Digest: entry.Digest.String(), Version: entry.Version}, nil
}

// resolveWorkload fills a workload's digest from the catalogue, likewise.
func (e *env) resolveWorkload(w *misstepv1.Workload) (*misstepv1.Workload, error) {
	catalogue := e.workloads()
	entry, err := catalogue.Get(w.GetName())
	if err != nil {
		names, listErr := e.names()
		if listErr != nil {
			return nil, listErr
		}
		return nil, fmt.Errorf("no workload %q in the catalogue (%s); add it with `misstep workload add FOLDER`",
			w.GetName(), listed(names.Workloads))
	}
	if w.GetDigest() != "" && w.GetDigest() != entry.Digest.String() {
		return nil, fmt.Errorf("workload %s in the catalogue is %s, but %s is asked for; leave the digest out or add that one",
			entry.Name, entry.Digest, w.GetDigest())
	}
	return &misstepv1.Workload{
		Name: entry.Name, Digest: entry.Digest.String(), Arguments: w.GetArguments(), Repetitions: w.GetRepetitions(),
	}, nil
}

func listed(names []string) string {
	if len(names) == 0 {
		return "it is empty"
	}
	return "it has " + strings.Join(names, ", ")
}
