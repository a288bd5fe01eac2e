package compare

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"time"

	"misstep/internal/atomicfile"
)

//go:embed compare.html
var pages embed.FS

var page = template.Must(template.New("compare.html").Funcs(template.FuncMap{
	"share":    Share,
	"ratio":    Measure.RatioText,
	"verdict":  Measure.VerdictText,
	"bar":      barOf,
	"upper":    func(s any) string { t := fmt.Sprint(s); return strings.ToUpper(t[:1]) + t[1:] },
	"duration": func(d time.Duration) string { return d.Round(time.Second).String() },
}).ParseFS(pages, "compare.html"))

// WriteHTML writes the report to a file, as one page that refers to nothing outside of it.
func WriteHTML(path string, r *Report) error {
	return atomicfile.WriteWith(path, func(w io.Writer) error {
		if err := page.Execute(w, r); err != nil {
			return fmt.Errorf("write the page: %w", err)
		}
		return nil
	})
}

// Share is a share as text, with enough digits to tell small ones apart.
func Share(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x < 1e-5:
		return fmt.Sprintf("%.1g %%", 100*x)
	case x < 0.1:
		return fmt.Sprintf("%.2g %%", 100*x)
	}
	return fmt.Sprintf("%.0f %%", 100*x)
}

// RatioText is the ratio with its interval.
func (m Measure) RatioText() string {
	switch {
	case m.Shares[Before] == 0 && m.Shares[After] == 0:
		return "-"
	case m.Shares[Before] == 0:
		return "only after"
	case m.Shares[After] == 0:
		return "only before"
	case m.High == nil:
		return fmt.Sprintf("%.2f", *m.Ratio)
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", *m.Ratio, *m.Low, *m.High)
}

// VerdictText is the verdict, with the budget that would decide where it is undecided.
func (m Measure) VerdictText() string {
	if m.Time == 0 {
		return string(m.Verdict)
	}
	return fmt.Sprintf("%s (%s)", m.Verdict, Budget(m.Time))
}

// Budget is a time, rounded up to two digits.
func Budget(d time.Duration) string {
	switch {
	case d < time.Hour:
		return fmt.Sprintf("%dm", max(1, int(math.Ceil(d.Minutes()))))
	case d < 48*time.Hour:
		return fmt.Sprintf("%.1fh", math.Ceil(10*d.Hours())/10)
	}
	return fmt.Sprintf("%dd", int(math.Ceil(d.Hours()/24)))
}

// bar is the interval of a ratio on a logarithmic scale, from a fifth to five times, in the units of the picture.
type bar struct {
	X, Width, At float64
	Class        string
}

const (
	barWidth = 200
	barEnd   = 5
)

func barOf(m Measure) *bar {
	if m.Ratio == nil || *m.Ratio == 0 || m.High == nil {
		return nil
	}
	at := func(x float64) float64 {
		return barWidth * (0.5 + math.Log(math.Min(math.Max(x, 1.0/barEnd), barEnd))/(2*math.Log(barEnd)))
	}
	return &bar{at(*m.Low), math.Max(1, at(*m.High)-at(*m.Low)), at(*m.Ratio), strings.ReplaceAll(string(m.Verdict), " ", "-")}
}
