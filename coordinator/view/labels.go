package view

import (
	"encoding/binary"
	"sync"

	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
)

// labels keeps labels, since each takes many patterns; it is safe for concurrent use.
type labels struct {
	mu sync.Mutex
	// by everything that a label depends on; guarded by mu.
	kept map[string]label
	// jdks by name and version, and how many there have been; guarded by mu.
	jdks map[[2]string]*jdk
	next uint64
}

// jdk is a JDK with a number of its own: the same one for equal names and versions.
type jdk struct {
	*misstepv1.Jdk
	number uint64
}

// maxLabels bounds the labels and the JDKs that are kept.
const maxLabels = 200_000

// jdk returns the JDK that is kept for one with the same name and version.
func (l *labels) jdk(of *misstepv1.Jdk) *jdk {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := [2]string{of.GetName(), of.GetVersion()}
	j := l.jdks[key]
	if j == nil {
		if l.jdks == nil || len(l.jdks) >= maxLabels {
			l.jdks, l.kept = map[[2]string]*jdk{}, nil
		}
		j = &jdk{of, l.next}
		l.next++
		l.jdks[key] = j
	}
	return j
}

// get returns the label of the finding with these ids, with a catalogue, on these JDKs; made makes it.
func (l *labels) get(catalogue string, ids []string, on []*jdk, made func() label) label {
	var b []byte
	add := func(text string) { b = append(binary.AppendUvarint(b, uint64(len(text))), text...) }
	add(catalogue)
	b = binary.AppendUvarint(b, uint64(len(ids)))
	for _, id := range ids {
		add(id)
	}
	for _, j := range on {
		b = binary.AppendUvarint(b, j.number)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if out, ok := l.kept[string(b)]; ok {
		return out
	}
	if l.kept == nil || len(l.kept) >= maxLabels {
		l.kept = map[string]label{}
	}
	out := made()
	l.kept[string(b)] = out
	return out
}

// versions keeps what known.ParseVersion reads; there are as many as JDKs were tested.
var versions sync.Map

// versionOf returns the version of a JDK; the zero one when it cannot be read.
func versionOf(j *misstepv1.Jdk) known.Version {
	text := j.GetVersion()
	if v, ok := versions.Load(text); ok {
		return v.(known.Version) //nolint:forcetypeassert // only these are stored
	}
	v, _ := known.ParseVersion(text)
	versions.Store(text, v)
	return v
}
