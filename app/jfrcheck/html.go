package jfrcheck

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"misstep/internal/atomicfile"
	"misstep/internal/digits"
)

//go:embed style.html report.html diff.html
var pages embed.FS

// pageTemplates escape whatever a recording says, as its place in the page demands (html/template).
var pageTemplates = template.Must(template.New("").Funcs(template.FuncMap{
	"percent":  func(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) },
	"points":   func(a, b float64) string { return fmt.Sprintf("%+.1f", 100*(b-a)) },
	"bytes":    func(n int64) string { return humanize.IBytes(uint64(max(n, 0))) },
	"count":    func(n any) string { return digits.Group(fmt.Sprint(n)) },
	"sentence": func(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." },
	"bars":     bars,
	"pair":     pair,
	"duration": func(begin, end time.Time) string { return end.Sub(begin).Round(time.Second).String() },
	"interval": func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.Round(max(d/1000, 1)).Round(10 * time.Microsecond).String()
	},
}).ParseFS(pages, "*.html"))

// barWidth and barHeight are the size of a picture, in its units.
const (
	barWidth  = 240
	barHeight = 12
)

// bar is a part of such a picture.
type bar struct {
	X, Y, Width, Height float64
	Class               string
	Title               string
}

// scale is what a group has for the scale of the pictures: the others together would make all of them small.
func (g Group) scale() uint64 {
	if g.Name == others {
		return 0
	}
	return g.Samples + g.Lost
}

// bars are the parts of a group's samples, to the scale of the largest group that has a name: those with a whole stack, truncated,
// empty and lost.
func bars(c Counts, groups any) []bar {
	var most uint64
	switch groups := groups.(type) {
	case []Group:
		for _, g := range groups {
			most = max(most, g.scale())
		}
	case []Thread:
		for _, t := range groups {
			most = max(most, t.scale())
		}
	case []Sampler:
		for _, s := range groups {
			most = max(most, s.Samples+s.Lost)
		}
	}
	most = max(most, c.Samples+c.Lost)
	var list []bar
	x := 0.0
	for _, part := range []struct {
		n     uint64
		class string
	}{
		{c.Samples - min(c.Samples, c.Empty+c.Truncated), "whole"},
		{c.Truncated, "truncated"},
		{c.Empty, "empty"},
		{c.Lost, "lost"},
	} {
		if part.n == 0 || most == 0 {
			continue
		}
		width := barWidth * float64(part.n) / float64(most)
		list = append(list, bar{x, 1, width, barHeight, part.class, fmt.Sprintf("%d %s", part.n, part.class)})
		x += width
	}
	return list
}

// pair are the two shares of a change, one above the other, to the scale of all samples.
func pair(c Change) []bar {
	of := func(share, y float64, class, name string) bar {
		return bar{0, y, barWidth * share, barHeight / 2, class, fmt.Sprintf("%s: %.1f %%", name, 100*share)}
	}
	return []bar{of(c.A, 1, "a", "A"), of(c.B, 1+barHeight/2, "b", "B")}
}

// WriteHTML writes the report to a file, as one page that refers to nothing outside of it.
func WriteHTML(path string, r *Report) error { return writePage(path, "report.html", r) }

// WriteHTML writes the comparison to a file, as one page that refers to nothing outside of it.
func (d *Difference) WriteHTML(path string) error { return writePage(path, "diff.html", d) }

func writePage(path, name string, of any) error {
	return atomicfile.WriteWith(path, func(w io.Writer) error { return renderPage(w, name, of) })
}

func renderPage(w io.Writer, name string, of any) error {
	var b bytes.Buffer
	if err := pageTemplates.ExecuteTemplate(&b, name, of); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	_, err := b.WriteTo(w)
	return err
}
