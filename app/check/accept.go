package check

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"misstep/internal/atomicfile"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
)

// Accept adds an entry for each finding that is no known bug to a file of known bugs, which is made if there is none. What is in
// the file stays as it is. It returns the ids of the entries added.
func (r *Report) Accept(file string, now time.Time) ([]string, error) {
	text, err := os.ReadFile(file)
	absent := errors.Is(err, fs.ErrNotExist)
	if err != nil && !absent {
		return nil, fmt.Errorf("accept findings: %w", err)
	}
	if absent {
		text = []byte("# Findings that somebody has looked at: misstep check --known does not fail on them.\n")
	}
	old, err := known.ParseOwn(text)
	if err != nil {
		return nil, fmt.Errorf("accept findings: %s: %w", file, err)
	}
	var ids []string
	var entries []*misstepv1.KnownBug
	for _, b := range r.Bugs {
		if b.Known || slices.ContainsFunc(old, func(o *misstepv1.KnownBug) bool { return o.GetId() == b.ID }) {
			continue
		}
		ids, entries = append(ids, b.ID), append(entries, b.accepted(r, now))
	}
	if len(entries) == 0 && !absent {
		return nil, nil
	}
	var added []byte
	if len(entries) > 0 {
		if added, err = known.Format(entries); err != nil {
			return nil, err
		}
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	text = append(text, added...)
	if all, err := known.ParseOwn(text); err != nil || len(all) != len(old)+len(entries) {
		return nil, errors.Join(fmt.Errorf(
			"accept findings: entries cannot be added to %s: it needs a list with a line \"- id: …\" for each", file), err)
	}
	return ids, atomicfile.Write(file, text, 0o644)
}

// accepted is the entry of a finding that somebody has looked at.
func (b Bug) accepted(r *Report, now time.Time) *misstepv1.KnownBug {
	jdk, _, _ := strings.Cut(r.JDK.Version, " for ") // where and when it was built is of no interest
	return &misstepv1.KnownBug{
		Id: b.ID, Title: b.Title,
		Note:    fmt.Sprintf("accepted on %s, as seen on %s", now.Format(time.DateOnly), jdk),
		Matches: []*misstepv1.KnownMatch{{Kind: b.signature.GetKind(), Parts: b.signature.GetParts()}},
	}
}
