package threaddump

import (
	"slices"
	"strings"
)

// Causes of a hang that a dump alone can show.
const (
	CauseDeadlock = "deadlock"
	// CauseInitialisation: threads wait until another one has initialised a class, which does not end.
	CauseInitialisation = "initialisation"
	// CauseCarriers: virtual threads could run, and all carriers are busy with others or pinned by them.
	CauseCarriers = "starved-carriers"
	CauseLimit    = "limit"
)

// cause returns why the program hangs, as far as the dump shows it.
func (d *Dump) cause() string {
	switch {
	case d.Deadlock:
		return CauseDeadlock
	case d.awaitsInitialiser():
		return CauseInitialisation
	case !d.EndsEarly && d.carriersStarve(): // a free carrier may be missing
		return CauseCarriers
	}
	return CauseLimit
}

// awaitsClass reports whether a thread waits for a class that another one initialises.
func (t *Thread) awaitsClass() bool {
	return strings.HasPrefix(t.locks.wants, initialisation) || t.locks.waitsForClass && t.locks.wants == ""
}

// awaitsInitialiser reports whether a thread waits for a class, and whoever it waits for in the end, through others perhaps, is an
// initialiser or not known.
func (d *Dump) awaitsInitialiser() bool {
	return slices.ContainsFunc(d.Threads, func(t Thread) bool {
		if !t.awaitsClass() {
			return false
		}
		end := &t
		for range d.Threads { // it is no deadlock
			if end.HeldBy < 0 {
				break
			}
			end = &d.Threads[end.HeldBy]
		}
		return end.locks.initialises || end.awaitsClass()
	})
}

// linkSuperclasses says who initialises a class that is waited for and whose initialiser nobody runs: a class is initialised after
// its superclass, so it is a thread that waits for that one, and if the waiting thread has that, both wait for ever.
func (d *Dump) linkSuperclasses() {
	for i := range d.Threads {
		t := &d.Threads[i]
		if !t.awaitsClass() || t.HeldBy >= 0 {
			continue
		}
		owner := -1
		for k := range d.Threads {
			if k == i || d.Threads[k].HeldBy != i || !d.Threads[k].awaitsClass() {
				continue
			}
			if owner >= 0 { // one of several
				owner = -1
				break
			}
			owner = k
		}
		if owner >= 0 {
			t.WaitsFor, t.HeldBy = ClassOfClasses, owner
		}
	}
}

// ClassOfClasses is the class of what a thread waits for that waits for the initialisation of a class.
const ClassOfClasses = "java.lang.Class"

// pinning is the method in which a virtual thread waits that cannot leave its carrier.
const pinning = "java.lang.VirtualThread.parkOnCarrierThread("

// pinned reports whether a thread is a virtual one that waits on its carrier, or carries such a one.
func (t *Thread) pinned() bool {
	return t.Virtual && slices.ContainsFunc(t.Frames, func(f string) bool { return strings.Contains(f, pinning) })
}

// carriersStarve reports whether no carrier is free although a virtual thread could run. A dump of Thread.print does not list those
// that wait for a carrier: there all carriers have to be pinned.
func (d *Dump) carriersStarve() bool {
	pools, carriers, pinned := slices.Clone(d.carrierPools), len(d.carrierPools), 0
	listed, queued := d.listsVirtual, false
	for _, t := range d.Threads {
		switch {
		case t.Carries != 0:
			carriers++
			pools = append(pools, poolOf(t.Name))
		case t.Virtual:
			listed = true
			queued = queued || len(t.Frames) == 0 || t.State == "RUNNABLE" && d.namesCarriers && !t.mounted
		}
		if t.pinned() {
			pinned++
		}
	}
	free := slices.ContainsFunc(d.Threads, func(t Thread) bool {
		return t.Carries == 0 && !t.Virtual && slices.Contains(pools, poolOf(t.Name))
	})
	return carriers > 0 && !free && (queued || !listed && pinned == carriers)
}

// poolOf returns the name of a pool's thread without its number: "ForkJoinPool-1-worker-" for "ForkJoinPool-1-worker-3".
func poolOf(name string) string { return strings.TrimRight(name, "0123456789") }
