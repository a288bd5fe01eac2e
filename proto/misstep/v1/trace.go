package misstepv1

import "fmt"

// Depth returns the number of frames that the trace has and had, those in its gaps included.
func (t *Trace) Depth() int {
	n := len(t.GetFrames())
	for _, gap := range t.GetLeftOut() {
		n += int(gap.GetFrames())
	}
	return n
}

// Shown returns the frames for people: a gap is a frame without a class, whose method says how many frames are not there.
func (t *Trace) Shown() []*Frame {
	if len(t.GetLeftOut()) == 0 {
		return t.GetFrames()
	}
	var shown []*Frame
	gaps := t.GetLeftOut()
	for i := 0; i <= len(t.GetFrames()); i++ {
		for len(gaps) > 0 && int(gaps[0].GetBefore()) <= i {
			shown = append(shown, &Frame{Method: fmt.Sprintf("… %d frames omitted …", gaps[0].GetFrames())})
			gaps = gaps[1:]
		}
		if i < len(t.GetFrames()) {
			shown = append(shown, t.GetFrames()[i])
		}
	}
	return shown
}
