package web

import (
	"math"

	misstepv1 "misstep/proto/misstep/v1"
)

// waiting is a hang as it is shown: its threads, and who waits for whom.
type waiting struct {
	*misstepv1.Hang
	Width, Height float64
	Nodes         []waitNode
	Edges         []waitEdge
}

// waitNode is a thread of the graph, and waitEdge leads from one that waits to the one that holds what it waits for.
type (
	waitNode struct {
		X, Y, R float64
		Name    string
		Waits   bool
		LabelY  float64
	}
	waitEdge struct {
		X1, Y1, X2, Y2 float64
		Lock           string
	}
)

// maxNodes bounds the threads that are drawn; the table has all.
const maxNodes = 24

// waitingOf draws the threads that wait for each other's locks on a circle.
func waitingOf(h *misstepv1.Hang) *waiting {
	if h == nil {
		return nil
	}
	w := &waiting{Hang: h, Width: 720}
	threads := h.GetThreads()
	holder := func(t *misstepv1.HungThread) int {
		for i, other := range threads {
			if t.GetHeldById() != 0 && other.GetId() == t.GetHeldById() ||
				t.GetHeldById() == 0 && t.GetHeldBy() != "" && other.GetName() == t.GetHeldBy() {
				return i
			}
		}
		return -1
	}
	var drawn []int
	at := map[int]int{}
	add := func(i int) {
		if _, there := at[i]; !there && len(drawn) < maxNodes {
			at[i] = len(drawn)
			drawn = append(drawn, i)
		}
	}
	for i, t := range threads {
		if h := holder(t); h >= 0 {
			add(i)
			add(h)
		}
	}
	if len(drawn) == 0 {
		return w
	}
	const top = 40
	radius := max(60, 28*float64(len(drawn)))
	radius = min(radius, 240)
	w.Height = 2*radius + 2*top
	for n, i := range drawn {
		angle := 2*math.Pi*float64(n)/float64(len(drawn)) - math.Pi/2
		x, y := w.Width/2+radius*math.Cos(angle), top+radius+radius*math.Sin(angle)
		t, label := threads[i], y-13
		if y > top+radius {
			label = y + 22 // below, where no line to the others crosses it
		}
		w.Nodes = append(w.Nodes, waitNode{
			X: round1(x), Y: round1(y), R: 8, Name: cut(t.GetName(), 40), Waits: holder(t) >= 0, LabelY: round1(label),
		})
	}
	for _, i := range drawn {
		to, drawnToo := at[holder(threads[i])]
		if holder(threads[i]) < 0 || !drawnToo {
			continue
		}
		a, b := w.Nodes[at[i]], w.Nodes[to]
		length := max(math.Hypot(b.X-a.X, b.Y-a.Y), 1)
		dx, dy := (b.X-a.X)/length*12, (b.Y-a.Y)/length*12
		w.Edges = append(w.Edges, waitEdge{
			round1(a.X + dx), round1(a.Y + dy), round1(b.X - dx), round1(b.Y - dy),
			threads[i].GetWaitsFor(),
		})
	}
	return w
}

func round1(x float64) float64 { return math.Round(10*x) / 10 }

// cut shortens a name to a number of characters.
func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
