package web

import (
	"embed"
	"fmt"
	"html/template"
	"math"
	"path"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/internal/digits"
	misstepv1 "misstep/proto/misstep/v1"
)

//go:embed templates
var sources embed.FS

// functions of the templates.
var functions = template.FuncMap{
	"count":    count,
	"percent":  func(hits, trials any) string { return percent(unsigned(hits), unsigned(trials)) },
	"share":    share,
	"ago":      func(now time.Time, t *timestamppb.Timestamp) moment { return momentOf(now, t) },
	"plural":   plural,
	"join":     strings.Join,
	"lower":    strings.ToLower,
	"duration": duration,
	"perSec":   perSecond,
	"cut":      cut,
	"base":     path.Base,
	"grant":    grantText,
	"reproduction": func(s misstepv1.ReproductionState) string {
		return strings.ToLower(strings.TrimPrefix(s.String(), "REPRODUCTION_STATE_"))
	},
	"label":      misstepv1.KnownCell,
	"visibility": misstepv1.VisibilityCell,
	"whoSees":    misstepv1.VisibilityText,
	"spark":      sparkOf,
	"each":       each,
	"begin":      func(h *misstepv1.History) string { return periodBegin(h, 0) },
	"jdks":       misstepv1.JDKNames,
	"rate": func(f *misstepv1.Finding) string {
		hits, trials := misstepv1.SumRates(f)
		return percent(hits, trials)
	},
	"list":      func(s shell, list any) part { return part{s, s.Data, list} },
	"offsets":   offsets,
	"posterior": posteriorOf,
	"bisection": misstepv1.BisectionOf,
	"tickEnd":   func(f forest) float64 { return f.Height - 18 },
	"tickText":  func(f forest) float64 { return f.Height - 4 },
	"rightOf":   func(f forest) float64 { return f.Right + 12 },
}

// part is what a template of a part sees: its list, with the page around it.
type part struct {
	Shell shell
	Data  any
	List  any
}

// count groups the digits of a large number.
func count(n any) string { return digits.Group(fmt.Sprint(n)) }

// plural is a count with its noun.
func plural(n any, noun string) string {
	if fmt.Sprint(n) == "1" {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}

// unsigned is a number of any width, of which messages have several.
func unsigned(n any) uint64 {
	switch n := n.(type) {
	case uint32:
		return uint64(n)
	case uint64:
		return n
	}
	panic(fmt.Sprintf("%T is no count", n))
}

// percent prints a rate to two digits, or more of high ones; a dash without trials.
func percent(hits, trials uint64) string {
	if trials == 0 {
		return "–"
	}
	return share(float64(hits) / float64(trials))
}

// share prints a share of 1 in percent, to two digits or more.
func share(x float64) string {
	p := 100 * x
	if p >= 10 || p == 0 {
		return strconv.FormatFloat(p, 'f', 0, 64) + "\u202f%"
	}
	digits := 1 - int(math.Floor(math.Log10(p)))
	return strconv.FormatFloat(p, 'f', digits, 64) + "\u202f%"
}

// perSecond prints a rate of events.
func perSecond(x float64) string {
	switch {
	case x >= 100:
		return count(int64(math.Round(x)))
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 2, 64)
}

// moment is a time as people read it, and as machines do.
type moment struct{ Ago, ISO, Full string }

func momentOf(now time.Time, t *timestamppb.Timestamp) moment {
	if t == nil {
		return moment{Ago: "–"}
	}
	at := t.AsTime()
	d := max(now.Sub(at), 0)
	ago := fmt.Sprintf("%d d ago", int(d.Hours()/24))
	switch {
	case d < time.Minute:
		ago = fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		ago = fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		ago = fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return moment{Ago: ago, ISO: at.UTC().Format(time.RFC3339), Full: at.UTC().Format("2006-01-02 15:04:05 UTC")}
}

// duration prints a duration in its two largest units.
func duration(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// stamp is a time in CSV.
func stamp(t *timestamppb.Timestamp) string {
	if t == nil {
		return ""
	}
	return t.AsTime().UTC().Format(time.RFC3339)
}

func number[N uint32 | uint64 | int](n N) string { return strconv.FormatUint(uint64(n), 10) }

func decimal(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
