package jfrcheck

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"time"

	"misstep/internal/atomicfile"
)

//go:embed report.html
var page string

// pageTemplate escapes whatever a recording says, as its place in the page demands (html/template).
var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"percent":  func(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) },
	"bars":     bars,
	"duration": func(begin, end time.Time) string { return end.Sub(begin).Round(time.Second).String() },
	"interval": func(d time.Duration) string { return d.Round(10 * time.Microsecond).String() },
}).Parse(page))

// barWidth is the width of a picture of a group's samples, in its units.
const barWidth = 320

// bar is a part of such a picture.
type bar struct {
	X, Width float64
	Class    string
	Title    string
}

// bars are the parts of a group's samples, to the scale of the largest group: those with a whole stack, truncated, empty and lost.
func bars(c Counts, groups any) []bar {
	var most uint64
	switch groups := groups.(type) {
	case []Group:
		for _, g := range groups {
			most = max(most, g.Samples+g.Lost)
		}
	case []Sampler:
		for _, s := range groups {
			most = max(most, s.Samples+s.Lost)
		}
	}
	var list []bar
	x := 0.0
	for _, part := range []struct {
		n     uint64
		class string
	}{{c.Samples - min(c.Samples, c.Empty+c.Truncated), "whole"}, {c.Truncated, "truncated"}, {c.Empty, "empty"}, {c.Lost, "lost"}} {
		if part.n == 0 || most == 0 {
			continue
		}
		width := barWidth * float64(part.n) / float64(most)
		list = append(list, bar{x, width, part.class, fmt.Sprintf("%d %s", part.n, part.class)})
		x += width
	}
	return list
}

// WriteHTML writes the report to a file, as one page that refers to nothing outside of it.
func WriteHTML(path string, r *Report) error {
	return atomicfile.WriteWith(path, func(w io.Writer) error { return renderHTML(w, r) })
}

func renderHTML(w io.Writer, r *Report) error {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, r); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	_, err := b.WriteTo(w)
	return err
}
