package main

import (
	"fmt"
	"io"
	"strings"

	states "misstep/coordinator/watch"
	misstepv1 "misstep/proto/misstep/v1"
)

// renderKnown prints which known bugs a finding is, with what one's own catalogue says about them.
func renderKnown(w io.Writer, f *misstepv1.Finding) {
	if text := misstepv1.KnownText(f); text != "" {
		fmt.Fprintf(w, "known as %s\n", text)
	}
	var also []string
	for _, on := range f.GetKnownOn() {
		if len(on.GetAlsoAs()) > 0 {
			also = append(also, strings.Join(on.GetAlsoAs(), ", ")+" on "+on.GetJdk().GetName())
		}
	}
	if len(also) > 0 {
		fmt.Fprintf(w, "also known as %s\n", strings.Join(also, "; "))
	}
	for _, b := range f.GetBugs() {
		for _, text := range []string{b.GetLink(), b.GetNote()} {
			if text != "" {
				fmt.Fprintf(w, "%s: %s\n", b.GetId(), text)
			}
		}
	}
	if f.GetAssorted() != "" {
		fmt.Fprintf(w, "holds assorted failures: %s\n", f.GetAssorted())
	}
}

// renderStates prints what statistics prove about a finding, a line each.
func renderStates(w io.Writer, f *misstepv1.Finding) {
	for _, s := range f.GetStates() {
		fmt.Fprintln(w, states.Text(s))
	}
}

// renderVanished prints which findings the same builds fixed, with the command that merges them.
func renderVanished(w io.Writer, f *misstepv1.Finding) {
	for _, v := range f.GetVanishWith() {
		fmt.Fprintf(w, "\nvanishes together with %s: %s\n  if they have one cause: misstep findings merge %s %s\n", v.GetId(),
			v.GetEvidence(), f.GetId(), v.GetId())
	}
}
