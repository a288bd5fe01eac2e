package explain

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"time"
)

//go:embed picture.html
var pictureText string

var pictureTemplate = template.Must(template.New("picture").Funcs(template.FuncMap{"short": Short}).Parse(pictureText))

// Sizes of the picture, in pixels.
const (
	plotLeft, plotWidth, plotTop = 190, 1150, 58
	rowHeight, barHeight         = 32, 12
	mostRows                     = 40
	ticks                        = 8
)

// picture is what the template draws.
type picture struct {
	*Explanation
	Width, Height                  int
	Left, Right, Below, PlotHeight float64
	FoldLabelY, LegendY            float64
	Rows                           []row
	Folds                          []fold
	Ticks                          []tick
	Arrows                         []arrow
	Marks                          []mark
	MomentX                        float64
	MomentLabel                    string
	Legend                         []bar
	Sentences                      []string
	// Hidden is the number of threads that are not drawn.
	Hidden int
}

type row struct {
	Y, TextY float64
	Label    string
	Bars     []bar
}

// bar is a span; Class is its state as a class of the style.
type bar struct {
	X, Y, Width, Height float64
	TextX               float64
	Class, Title        string
}

type tick struct {
	X     float64
	Label string
}

type arrow struct {
	Path, Title string
}

// mark is the number of a listed absence.
type mark struct {
	X, Y, TextY float64
	Number      int
	Title       string
}

// SVG writes the picture as one file.
func (x *Explanation) SVG(w io.Writer) error {
	return pictureTemplate.ExecuteTemplate(w, "svg", x.picture())
}

// HTML writes a page with the picture and its words.
func (x *Explanation) HTML(w io.Writer) error {
	return pictureTemplate.ExecuteTemplate(w, "page", x.picture())
}

func (x *Explanation) picture() *picture {
	shown := x.shown()
	times := []time.Duration{x.From, x.Moment, x.To}
	for _, i := range shown {
		for _, s := range x.timeline.Threads[i].during(x.From, x.To) {
			times = append(times, max(s.From, x.From), min(s.To, x.To))
		}
	}
	a := axisOf(times, plotWidth)
	p := &picture{
		Explanation: x, Left: plotLeft, Right: plotLeft + plotWidth,
		Width: plotLeft + plotWidth + 40, Folds: a.folds, Hidden: len(x.timeline.Threads) - len(shown),
		MomentX: a.at(x.Moment), MomentLabel: "end of the log",
	}
	switch {
	case x.Standstill > 0:
		p.MomentLabel = "standstill for " + Short(x.Standstill)
	case len(x.Silent) > 0:
		p.MomentLabel = "last thread fell silent"
	case x.Ended != "":
		p.MomentLabel = shorten(x.Ended, 26) + " ended"
	}
	at := map[int]float64{}
	for n, i := range shown {
		thread := &x.timeline.Threads[i]
		r := row{Y: plotTop + float64(n*rowHeight) + rowHeight/2, Label: shorten(thread.Label(), 26)}
		r.TextY = r.Y + 4
		at[i] = r.Y
		for _, s := range thread.during(x.From, x.To) {
			from, to := a.at(max(s.From, x.From)), a.at(min(s.To, x.To))
			r.Bars = append(r.Bars, barOf(s, r.Y, from, max(to-from, 0.6), thread.Label()))
		}
		p.Rows = append(p.Rows, r)
	}
	p.Below = plotTop + float64(len(shown)*rowHeight)
	p.PlotHeight, p.FoldLabelY, p.LegendY = p.Below-plotTop, p.Below+12, p.Below+34
	p.Height = int(p.LegendY) + 14
	p.legend()
	p.drawTicks(a)
	for _, w := range x.timeline.Wakes {
		from, known := at[w.Waker]
		to, also := at[w.Woken]
		if known && also && w.Waker != w.Woken && w.At >= x.From && w.At <= x.To {
			p.Arrows = append(p.Arrows, arrowOf(a.at(w.At), from, to, fmt.Sprintf("%s woke %s, which had been blocked for %s",
				x.timeline.Threads[w.Waker].Label(), x.timeline.Threads[w.Woken].Label(), Short(w.Blocked))))
		}
	}
	for i, absence := range x.Mattered {
		p.Sentences = append(p.Sentences, x.Relative(absence.From)+": "+absence.Sentence())
		if y, known := at[absence.Thread]; known {
			p.Marks = append(p.Marks, mark{
				X: round(a.at(max(absence.From, x.From)) + plotLeft), Y: y - 10, TextY: y - 7, Number: i + 1, Title: p.Sentences[i],
			})
		}
	}
	return p
}

// shown are the threads that are drawn: those that did anything in the window, those that fell silent, in the order of creation.
func (x *Explanation) shown() []int {
	type candidate struct{ thread, weight int }
	var all []candidate
	for i := range x.timeline.Threads {
		c := candidate{thread: i}
		for _, s := range x.timeline.Threads[i].during(x.From, x.To) {
			if s.State != Blocked && s.State != Alive {
				c.weight++
			}
		}
		if slices.ContainsFunc(x.Silent, func(s Silence) bool { return s.Thread == i }) ||
			slices.ContainsFunc(x.Mattered, func(a Absence) bool { return a.Thread == i }) {
			c.weight += 1 << 20
		}
		if c.weight > 0 {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.weight, a.weight) })
	var shown []int
	for _, c := range all[:min(mostRows, len(all))] {
		shown = append(shown, c.thread)
	}
	slices.Sort(shown)
	return shown
}

func barOf(s Span, y, x, width float64, label string) bar {
	class := map[State]string{Running: "run", KeptAway: "kept", Waiting: "wait", Blocked: "block", Alive: "alive"}[s.State]
	height := map[State]float64{Running: barHeight, KeptAway: barHeight, Waiting: barHeight / 2.0}[s.State]
	height = max(height, 2)
	return bar{
		X: round(x + plotLeft), Y: round(y - height/2), Width: round(width), Height: height, Class: class,
		Title: fmt.Sprintf("%s %s for %s", label, s.State, Short(s.Length())),
	}
}

// arrowOf draws a wake-up: a line from the waker's row down or up to the thread's, with a head.
func arrowOf(x, from, to float64, title string) arrow {
	x += plotLeft
	direction := math.Copysign(1, to-from)
	end := to - direction*barHeight/2
	return arrow{
		Path: fmt.Sprintf("M%.1f %.1fV%.1fm-3 %.1fl3 %.1fl3 %.1f", x, from+direction*barHeight/2, end, -direction*5, direction*5,
			-direction*5),
		Title: title,
	}
}

// legend explains the states that the log can have.
func (p *picture) legend() {
	states := []State{Running, KeptAway, Waiting, Blocked}
	if !p.Runs {
		states = []State{KeptAway, Alive}
	}
	x := 0.0
	for _, s := range states {
		b := barOf(Span{State: s}, p.LegendY-4, x, 22, "")
		b.TextX, b.Title = b.X+28, s.String()
		p.Legend = append(p.Legend, b)
		x += 160
	}
}

func (p *picture) drawTicks(a *axis) {
	for i := range ticks + 1 {
		x := float64(i) * plotWidth / ticks
		p.Ticks = append(p.Ticks, tick{X: round(x + plotLeft), Label: p.Relative(a.timeAt(x))})
	}
	p.MomentX = round(p.MomentX + plotLeft)
	for i := range p.Folds {
		f := &p.Folds[i]
		f.X, f.Width = round(f.X+plotLeft), round(f.Width)
		f.Middle = round(f.X + f.Width/2)
	}
}

func round(x float64) float64 { return math.Round(10*x) / 10 }

func shorten(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
