package bundle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	misstepv1 "misstep/proto/misstep/v1"
)

const (
	maxRows    = 80  // shown of a comparison
	maxCompare = 400 // frames of each side that are aligned; beyond, the middle is cut
	keepAround = 3   // equal rows shown around a difference
	maxColumn  = 70
)

var sourceNames = map[string]string{
	"asgct": "AsyncGetCallTrace", "gst": "GetStackTrace", "shadow": "the shadow stack", "bytecode": "the bytecode",
	"jfr": "JFR", "held": "the stack that stood still",
}

// sourceName names whose trace it is; samplers have names of their own.
func sourceName(t *misstepv1.Trace) string {
	return cmp.Or(sourceNames[t.GetSource()], code(t.GetSource()))
}

// Row is one line of a comparison of two stacks; an absent frame is empty.
type Row struct {
	Left, Right string
	// Mark is ' ' for equal, '<' for only left, '>' for only right, '!' for the same method at another place.
	Mark byte
}

// Rows aligns two stacks, reference and suspect, top first, and returns their titles and one row for each frame; equal ones far
// from a difference are left out of long stacks.
func Rows(reference, suspect *misstepv1.Trace) (title Row, rows []Row) {
	rows = shorten(align(side{clip(reference.Shown()), placed(reference)}, side{clip(suspect.Shown()), placed(suspect)}))
	return Row{traceTitle(reference), traceTitle(suspect), ' '}, rows
}

// sideBySide shows both traces aligned, top first, and marks the lines in which they differ.
func sideBySide(reference, suspect *misstepv1.Trace) string {
	title, rows := Rows(reference, suspect)
	width := utf8.RuneCountInString(title.Left)
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(r.Left))
	}
	var b strings.Builder
	for _, r := range append([]Row{title, {strings.Repeat("-", width), strings.Repeat("-", width), ' '}}, rows...) {
		line := fmt.Sprintf("%c %s %s", r.Mark, pad(r.Left, width), r.Right)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

func traceTitle(t *misstepv1.Trace) string {
	name := sourceName(t)
	if t.GetSampler() != "" {
		name += " " + code(t.GetSampler())
	}
	frames := fmt.Sprintf(", %d frames", t.Depth())
	return cutFront(name, maxColumn-len(frames)) + frames
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

func clip(frames []*misstepv1.Frame) []*misstepv1.Frame {
	if len(frames) <= maxCompare {
		return frames
	}
	cut := &misstepv1.Frame{Method: fmt.Sprintf("… %d frames omitted …", len(frames)-maxCompare)}
	clipped := append([]*misstepv1.Frame{}, frames[:maxCompare/2]...)
	return append(append(clipped, cut), frames[len(frames)-maxCompare/2:]...)
}

func method(f *misstepv1.Frame) string {
	return f.GetClassName() + "." + f.GetMethod() + f.GetDescriptor_()
}

// side is one of two traces.
type side struct {
	frames []*misstepv1.Frame
	// placed says that its frames have bytecode indices.
	placed bool
}

// placed reports whether a trace has bytecode indices: a shadow has none, nor have the traces that check samplers compares by line,
// where each is -1; in other traces that means a native method, and the bottom of a thread's stack is none.
func placed(t *misstepv1.Trace) bool {
	return t.GetSource() != "shadow" &&
		slices.ContainsFunc(t.GetFrames(), func(f *misstepv1.Frame) bool { return f.GetBci() != -1 })
}

func (s side) text(i int) string { return frameText(s.frames[i], s.placed) }

func frameText(f *misstepv1.Frame, placed bool) string {
	name := f.GetMethod()
	if f.GetClassName() != "" {
		name = f.GetClassName() + "." + name
	}
	where := fmt.Sprintf(" @%d", f.GetBci())
	switch {
	case !placed || f.GetClassName() == "": // a gap is at no place
		where = ""
	case f.GetBci() == -1 || f.GetBci() == -3: // how GetStackTrace and AsyncGetCallTrace mark native methods
		where = " (native)"
	}
	return cutFront(code(name), maxColumn-len(where)) + where
}

// cutFront shortens a line to a number of characters from its beginning.
func cutFront(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return "…" + string(runes[len(runes)-most+1:])
	}
	return text
}

// align pairs the frames of both sides by their longest common subsequence of methods.
func align(one, other side) []Row {
	left, right := one.frames, other.frames
	lengths := make([][]int, len(left)+1) // of the best pairing of left[i:] and right[j:]
	for i := range lengths {
		lengths[i] = make([]int, len(right)+1)
	}
	for i, l := range slices.Backward(left) {
		for j, r := range slices.Backward(right) {
			if method(l) == method(r) {
				lengths[i][j] = lengths[i+1][j+1] + 1
			} else {
				lengths[i][j] = max(lengths[i+1][j], lengths[i][j+1])
			}
		}
	}
	var rows []Row
	for i, j := 0, 0; i < len(left) || j < len(right); {
		switch {
		case i < len(left) && j < len(right) && method(left[i]) == method(right[j]):
			r := Row{one.text(i), other.text(j), ' '}
			if one.placed && other.placed && r.Left != r.Right {
				r.Mark = '!'
			}
			rows = append(rows, r)
			i, j = i+1, j+1
		case j >= len(right) || i < len(left) && lengths[i+1][j] >= lengths[i][j+1]:
			rows = append(rows, Row{Left: one.text(i), Mark: '<'})
			i++
		default:
			rows = append(rows, Row{Right: other.text(j), Mark: '>'})
			j++
		}
	}
	return rows
}

// shorten omits equal rows far from a difference, and rows beyond maxRows.
func shorten(rows []Row) []Row {
	near := make([]bool, len(rows))
	for i, r := range rows {
		if r.Mark == ' ' {
			continue
		}
		for k := max(0, i-keepAround); k <= min(len(rows)-1, i+keepAround); k++ {
			near[k] = true
		}
	}
	var short []Row
	skipped := 0
	flush := func() {
		if skipped > 0 {
			text := fmt.Sprintf("… %d equal frames …", skipped)
			short = append(short, Row{text, text, ' '})
		}
		skipped = 0
	}
	for i, r := range rows {
		if !near[i] && len(rows) > 2*keepAround+maxRows/4 {
			skipped++
			continue
		}
		flush()
		if len(short) == maxRows {
			return append(short, Row{Left: fmt.Sprintf("… %d more rows …", len(rows)-i), Mark: ' '})
		}
		short = append(short, r)
	}
	flush()
	return short
}
