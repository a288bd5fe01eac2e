package local

import (
	"errors"
	"fmt"

	"misstep/catalogue"
	"misstep/corpus"
	"misstep/deploy/jdk"
	"misstep/internal/suggest"
	misstepv1 "misstep/proto/misstep/v1"
)

// JDKNames lists the names in the catalogue of JDK builds; empty, not nil, when it has none.
func (i Installation) JDKNames() ([]string, error) {
	entries, err := i.JDKs().List()
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name)
	}
	return names, err
}

// WorkloadNames lists the names in the catalogue of workloads; empty, not nil, when it has none.
func (i Installation) WorkloadNames() ([]string, error) {
	entries, err := i.Workloads().List()
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name)
	}
	return names, err
}

// ResolveJDK fills a JDK's digest and version from the catalogue; a digest that is given must be the catalogue's.
func (i Installation) ResolveJDK(j *misstepv1.Jdk) (*misstepv1.Jdk, error) {
	jdks := i.JDKs()
	if j.GetName() == "" && j.GetDigest() != "" {
		d, err := corpus.ParseDigest(j.GetDigest())
		if err != nil {
			return nil, fmt.Errorf("jdk.digest: %w", err)
		}
		if entry, ok := jdks.ByDigest(d); ok {
			return &misstepv1.Jdk{Name: entry.Name, Digest: entry.Digest.String(), Version: entry.Version}, nil
		}
		return nil, fmt.Errorf("no JDK with digest %s in the catalogue; add it with `misstep jdk add NAME SOURCE`", d)
	}
	entry, err := jdks.Get(j.GetName())
	if err != nil && !errors.Is(err, catalogue.ErrUnknown) {
		return nil, err
	}
	if err != nil {
		names, listErr := i.JDKNames()
		if listErr != nil {
			return nil, listErr
		}
		return nil, fmt.Errorf("no JDK %q in the catalogue%s; add it with `misstep jdk add %s SOURCE`",
			j.GetName(), suggest.Among(j.GetName(), names), j.GetName())
	}
	if j.GetDigest() != "" && j.GetDigest() != entry.Digest.String() {
		return nil, fmt.Errorf("JDK %s in the catalogue is %s, but the recipe names %s; omit the digest or add that build under "+
			"another name", entry.Name, entry.Digest, j.GetDigest())
	}
	return &misstepv1.Jdk{Name: entry.Name, Digest: entry.Digest.String(), Version: entry.Version}, nil
}

// ResolveWorkload fills a workload's digest from the catalogue; a digest that is given must be the catalogue's.
func (i Installation) ResolveWorkload(w *misstepv1.Workload) (*misstepv1.Workload, error) {
	entry, err := i.Workloads().Get(w.GetName())
	if err != nil && !errors.Is(err, catalogue.ErrUnknown) {
		return nil, err
	}
	if err != nil {
		names, listErr := i.WorkloadNames()
		if listErr != nil {
			return nil, listErr
		}
		return nil, fmt.Errorf("no workload %q in the catalogue%s; add it with `misstep workload add FOLDER`",
			w.GetName(), suggest.Among(w.GetName(), names))
	}
	if w.GetDigest() != "" && w.GetDigest() != entry.Digest.String() {
		return nil, fmt.Errorf("workload %s in the catalogue is %s, but the recipe names %s; omit the digest or add that workload",
			entry.Name, entry.Digest, w.GetDigest())
	}
	return &misstepv1.Workload{
		Name: entry.Name, Digest: entry.Digest.String(), Arguments: w.GetArguments(), Repetitions: w.GetRepetitions(),
	}, nil
}

// JDKByDigest returns the JDK of the catalogue with this digest, if the text is one.
func (i Installation) JDKByDigest(digest string) (jdk.Entry, bool) {
	d, err := corpus.ParseDigest(digest)
	if err != nil {
		return jdk.Entry{}, false
	}
	return i.JDKs().ByDigest(d)
}
