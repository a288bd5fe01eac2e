package bundle

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
)

// Recording is the folder of an unpacked bundle that holds the recording of a virtual machine, if there is one.
const Recording = "recording"

// maxRecording bounds the files of a recording.
const maxRecording = 16

// recording adds the files of a recorded machine and lists them in the reproducer.
func (g *gatherer) recording(c *Contents) error {
	if c.Recording == "" {
		if len(c.Reproducer.GetRecording()) > 0 {
			return errors.New("the reproducer lists a recording, but none was given")
		}
		return nil
	}
	before := len(g.files)
	if err := g.folder(Recording, c.Recording); err != nil {
		return err
	}
	c.Reproducer = proto.CloneOf(c.Reproducer)
	c.Reproducer.Recording = nil
	for _, f := range g.files[before:] {
		name := strings.TrimPrefix(f.Path, Recording+"/")
		if strings.Contains(name, "/") {
			return fmt.Errorf("recording %s: it has the folder %q, a recording may not have folders", c.Recording, path.Dir(name))
		}
		part := &misstepv1.Evidence{Name: name, Digest: f.Digest.String(), Size: uint64(max(0, f.Size))}
		c.Reproducer.Recording = append(c.Reproducer.Recording, part)
	}
	if n := len(c.Reproducer.GetRecording()); n == 0 || n > maxRecording {
		return fmt.Errorf("recording %s: it has %d files, 1 to %d are allowed", c.Recording, n, maxRecording)
	}
	return nil
}

// checkRecording compares the files under recording/ with the reproducer's list of them.
func (b *Bundle) checkRecording() error {
	listed := b.reproducer.GetRecording()
	if len(listed) > maxRecording {
		return fmt.Errorf("the recording has %d files, at most %d are allowed", len(listed), maxRecording)
	}
	left := map[string]bool{}
	for _, f := range b.files {
		if strings.HasPrefix(f.Path, Recording+"/") {
			left[f.Path] = true
		}
	}
	for _, e := range listed {
		name := path.Join(Recording, e.GetName())
		i := slices.IndexFunc(b.files, func(f File) bool { return f.Path == name })
		if i < 0 || !left[name] || b.files[i].Digest.String() != e.GetDigest() ||
			b.files[i].Size < 0 || uint64(b.files[i].Size) != e.GetSize() {
			return fmt.Errorf("%s: the recording's %.200q is missing or differs", nameReproducer, e.GetName())
		}
		delete(left, name)
	}
	for name := range left {
		return fmt.Errorf("entry %.200q: %s lists no such part of a recording", name, nameReproducer)
	}
	return nil
}
