package threaddump

import (
	"regexp"
	"strings"
)

// The serviceability agent prints threads by itself, of a JVM that does not answer or of a core file: jhsdb jstack, and jstack
// -F up to 8 (sun.jvm.hotspot.tools.StackTrace and its neighbours in jdk.hotspot.agent). What it says of deadlocks comes before
// the threads:
//
//	"left" #12 prio=5 tid=0x00007f0c nid=0x1a2b waiting for monitor entry [0x00007f2d]     from 9 on
//	   java.lang.Thread.State: BLOCKED (on object monitor)
//	 - demo.Cross.left() @bci=18, line=3 (Interpreted frame)
//		- waiting to lock <0x00000000fc0dd0f0> (a java.lang.Object)
//	Thread 29759: (state = BLOCKED)                                                        up to 8, without names
//	 - sun.misc.Unsafe.park(boolean, long) @bci=0 (Compiled frame; information may be imprecise)
var (
	agentThread = regexp.MustCompile(`^Thread (\d+): \(state = ([A-Z_]+)\)$`)
	agentFrame  = regexp.MustCompile(`^- ([^\s()]+\.[^\s().]+\([^()]*\)) @bci=-?\d+`)
)

// agentTitle begins what it prints about deadlocks.
const agentTitle = "Deadlock Detection:"

// virtualBottom is the last frame of a virtual thread's own.
const virtualBottom = "java.lang.VirtualThread.run("

// frameOf returns the frame in a line of a stack, as the JVM or the agent prints it, without "at ".
func frameOf(line string) (frame string, ok bool) {
	if frame, ok = strings.CutPrefix(line, "at "); ok {
		return frame, true
	}
	if m := agentFrame.FindStringSubmatch(line); m != nil {
		return m[1], true
	}
	return "", false
}

// agentHeader begins a thread that has no name, and reports whether the line is one's first.
func (p *textParser) agentHeader(line string) bool {
	m := agentThread.FindStringSubmatch(line)
	if m == nil {
		return false
	}
	p.begin(Thread{TID: number(m[1]), State: m[2], HeldBy: -1})
	return true
}

// ownFrames leaves a thread that carries a virtual one, which the agent does not say, the frames of that one.
func (t *Thread) ownFrames() {
	if t.Virtual {
		return
	}
	for i, f := range t.Frames {
		if strings.HasPrefix(f, virtualBottom) {
			t.Virtual, t.Frames = true, t.Frames[:i+1]
			return
		}
	}
}
