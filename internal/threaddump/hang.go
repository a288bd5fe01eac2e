package threaddump

import (
	"cmp"

	misstepv1 "misstep/proto/misstep/v1"
)

// Hang returns the dump as a hang with the cause that it shows, one of the constants, and the threads' states by Java.
func (d *Dump) Hang() *misstepv1.Hang {
	h := &misstepv1.Hang{Cause: d.cause()}
	for i := range d.Threads {
		t := &misstepv1.HungThread{Tid: d.Threads[i].TID, State: d.Threads[i].State}
		d.Fill(t, i)
		h.Threads = append(h.Threads, t)
	}
	return h
}

// Fill sets what the dump has about its i-th thread: all but the state and the operating system's id.
func (d *Dump) Fill(t *misstepv1.HungThread, i int) {
	from := d.Threads[i]
	t.Name, t.JavaFrames, t.Id, t.Virtual, t.WaitsFor = from.Name, from.Frames, d.id(i), from.Virtual, from.WaitsFor
	if from.HeldBy >= 0 {
		t.HeldBy, t.HeldById = d.Threads[from.HeldBy].Name, d.id(from.HeldBy)
	} else if from.awaitsClass() {
		t.WaitsFor = ClassOfClasses
	}
}

// id returns a number that only this thread of the dump has: Java's, or a negative one for threads without.
func (d *Dump) id(i int) int64 {
	return cmp.Or(d.Threads[i].ID, int64(-1-i))
}
