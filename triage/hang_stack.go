package triage

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// rank orders the threads of a hang by how likely they are what hangs.
type rank int

const (
	suspicious rank = iota // runs or waits in a method of the application
	waiting                // waits there for something to do or for the end of another thread
	sleeping               // waits there for time to pass
	internal               // has frames of the JDK only
	blocked                // waits for a lock that another thread of the hang holds, which is to blame
	idle                   // waits for work, as threads of pools, selectors and timers do
	sampling               // only samples the others, whatever they do
)

// rankOf returns a thread's rank. One that holds what others wait for is to blame, whatever it waits for itself.
func rankOf(t *misstepv1.HungThread, holds bool) rank {
	switch called, app := boundary(t.GetJavaFrames()); {
	case t.GetHeldById() != 0 || t.GetHeldBy() != "":
		return blocked
	case holds:
		return suspicious
	case samples(t):
		return sampling
	case housekeeping(t), idles(t.GetJavaFrames()):
		return idle
	case t.GetVirtual() && app == "":
		return suspicious // a carrier, of whose virtual thread the dump says nothing
	case app == "" && len(t.GetJavaFrames()) > 0 && !slices.ContainsFunc(t.GetJavaFrames(), takesLock):
		return internal
	case sleepRE.MatchString(called):
		return sleeping
	case passiveRE.MatchString(called):
		return waiting
	}
	return suspicious
}

// sleepRE and passiveRE match methods of the JDK in which an application's thread waits for time to pass, and for something to do
// or for others.
var (
	sleepRE   = regexp.MustCompile(`^java\.(lang\.Thread|util\.concurrent\.TimeUnit)\.sleep$`)
	passiveRE = regexp.MustCompile(`^java\.(lang\.Thread\.join|util\.concurrent\.(TimeUnit\.timedJoin|` +
		`\w+(Queue|Deque)\.(take|poll)\w*|(\w+Pool|\w*Executor\w*)\.(awaitTermination|awaitQuiescence|close)))$`)
)

// javaPlace returns where a thread is: the first method of the application, and the JDK's method that it called if the thread waits
// there, since which methods an application calls is the same in all JDKs and what those call is not. Without frames of the
// application, it is the first method that does not merely implement waiting; "" without Java frames.
func javaPlace(frames []string) string {
	called, app := boundary(frames)
	switch {
	case app == "":
		return lockPlace(frames)
	case called != "" && (primitive(javaFrame(frames[0])) || transferRE.MatchString(javaFrame(frames[0]))):
		return app + " calling " + called
	}
	return app
}

// lockPlace returns the first frame that does not merely implement waiting, else the last one; "" without Java frames.
func lockPlace(frames []string) string {
	last := ""
	for _, f := range frames {
		j := javaFrame(f)
		if j != "" && !primitive(j) {
			return j
		}
		last = cmp.Or(j, last)
	}
	return last
}

// deadlockPlace returns where a thread of a deadlock is: the method that waits for the lock, and the application's method that
// called it, since methods that only take locks for others are in many deadlocks.
func deadlockPlace(frames []string) string {
	place := lockPlace(frames)
	below := false
	for _, f := range frames {
		switch j := javaFrame(f); {
		case j == place:
			below = true
		case below && j != "" && !ofJDK.MatchString(j) && !lambdaRE.MatchString(j):
			return place + " < " + j
		}
	}
	return place
}

// lambdaRE matches the generated method by which the JDK calls a lambda expression.
var lambdaRE = regexp.MustCompile(`\$\$Lambda\.`)

// boundary returns the application's first method, and the method of the JDK that it called; "" for none.
func boundary(frames []string) (called, app string) {
	for _, f := range frames {
		j := javaFrame(f)
		switch {
		case j == "":
		case !ofJDK.MatchString(j):
			return called, j
		default:
			called = j
		}
	}
	return called, ""
}

var ofJDK = regexp.MustCompile(`^(javax?|jdk|sun|com\.sun)\.`)

// javaFrame normalises a line of a thread dump, "at java.base@17/java.lang.Object.wait(Native Method)" to "java.lang.Object.wait".
// Classes of JDK 8 have the names of their successors.
func javaFrame(s string) string {
	f, _ := signature.ParseJavaFrame(s)
	return renamed.Replace(f.MethodName())
}

// renamed gives classes of JDK 8 the names of their successors.
var renamed = strings.NewReplacer(
	"sun.misc.Unsafe.", "jdk.internal.misc.Unsafe.", "java.lang.UNIXProcess.", "java.lang.ProcessImpl.",
)

// primitive reports whether a method merely implements waiting; the thread waits in its caller.
func primitive(method string) bool {
	for _, p := range []string{
		"java.lang.Object.wait", "jdk.internal.misc.Unsafe.park", "java.util.concurrent.locks.", "java.lang.Thread.sleep",
		"java.lang.Thread.join", "java.util.concurrent.ForkJoinPool.managedBlock",
		"java.util.concurrent.ForkJoinPool.unmanagedBlock",
		// of virtual threads
		"java.lang.VirtualThread.", "java.lang.System$#.parkVirtualThread", "jdk.internal.misc.VirtualThreads.park",
		"jdk.internal.vm.Continuation.yield", "java.lang.Thread.yield",
	} {
		if strings.HasPrefix(method, p) {
			return true
		}
	}
	return false
}

// transferRE matches the native methods in which a thread waits for a file or a peer.
var transferRE = regexp.MustCompile(`^(java\.net\.\w*(Socket|Stream)\w*\.socket\w+0?|sun\.nio\.ch\.(Net\.(poll|accept|connect)|` +
	`(Socket|File|Datagram)\w*Dispatcher(Impl)?\.\w+0|IOUtil\.\w+)|java\.io\.\w+\.(read|write)\w*)$`)

// idleIn are methods in which a thread waits for work, by what has them. A thread that works on something is not in them.
var idleIn = regexp.MustCompile(`^(` + strings.Join([]string{
	// java.util.concurrent: pools, the scheduler of delayed tasks (25), cleaners and other users of queues of references
	`java\.util\.concurrent\.ThreadPoolExecutor\.getTask`,
	`java\.util\.concurrent\.ForkJoinPool\.awaitWork`,
	`java\.util\.concurrent\.DelayScheduler\.(loop|run)`,
	`java\.util\.concurrent\.CompletableFuture\$Delayer\..*`,
	`java\.util\.TimerThread\.mainLoop`,
	`java\.lang\.ref\.(Reference\.(waitForReferencePendingList|tryHandlePending)|Reference\$ReferenceHandler\.run)`,
	`java\.lang\.ref\.(Native)?ReferenceQueue\.\w+`,
	// the JDK's own threads
	`java\.lang\.VirtualThread\.takeVirtualThreadListToUnblock`, `java\.lang\.ProcessHandleImpl\.waitForProcessExit\w*`,
	`java\.lang\.UNIXProcess\.waitForProcessExit`, `sun\.misc\.Signal\w*\..*`, `sun\.misc\.GC\$Daemon\.run`,
	`sun\.rmi\.transport\.(tcp\.TCPTransport\$AcceptLoop|ObjectTable\$Reaper|GC\$Daemon)\.\w+`, `sun\.nio\.ch\.\w*Poller\..*`,
	`sun\.net\.www\.http\.KeepAliveCache\.run`, `sun\.nio\.fs\.\w*WatchService\w*(\$\w+)?\.\w+`,
	`sun\.nio\.ch\.\w+(Port\$EventHandlerTask\.\w+|AsynchronousChannelGroup\w*\.\w+|Iocp\$EventHandlerTask\.\w+)`,
	`jdk\.jfr\.internal\.PlatformRecorder\.(periodicTask|takeNap)`, `com\.sun\.jmx\.remote\.internal\..*`,
	`java\.awt\.EventQueue\.getNextEvent`, `sun\.java2d\.Disposer\.run`, `sun\.awt\.(AWTAutoShutdown|X11\.XToolkit)\.\w+`,
	`javax\.swing\.TimerQueue\.run`,
	// selectors and servers: the JDK's, Netty's, Jetty's, Tomcat's, Grizzly's, XNIO's
	`sun\.nio\.ch\.SelectorImpl\.\w+`, `(java\.net|sun\.nio\.ch|sun\.security\.ssl)\.\w*ServerSocket\w*\.\w*accept\w*`,
	`java\.net\.PlainSocketImpl\.socketAccept`, `java\.net\.\w+SocketImpl\.accept`,
	`(\w+\.)*io\.netty\.channel\..*\.(select|epollWait|kqueueWait|kqueueWakeup)\w*`,
	`io\.netty\.util\.HashedWheelTimer\$Worker\.waitForNextTick`,
	`io\.netty\.util\.concurrent\.(SingleThreadEventExecutor|GlobalEventExecutor)\.takeTask`,
	`org\.eclipse\.jetty\.util\.thread\.QueuedThreadPool(\$\w+)?\.idleJobPoll`,
	`org\.eclipse\.jetty\.util\.thread\.ReservedThreadExecutor\$ReservedThread\.reservedWait`,
	`org\.(glassfish\.grizzly\.threadpool|jboss\.threads)\..*\.(getTask|getIORunnable|runThreadBody)`,
	`org\.jboss\.threads\.EnhancedQueueExecutor\$ThreadBody\.\w+`,
}, `|`) + `)$`)

// takesLock reports whether a frame is of a method that waits for a lock of java.util.concurrent.
func takesLock(frame string) bool {
	return strings.HasPrefix(javaFrame(frame), "java.util.concurrent.locks.ReentrantLock.lock")
}

// poolQueue matches the methods of queues that libraries make for the JDK's pools.
var poolQueue = regexp.MustCompile(`Queue\.(take|poll)$`)

// maxIdleDepth bounds how deep below the top a thread waits for work.
const maxIdleDepth = 24

// idles reports whether a thread merely waits for work: below nothing but the JDK's waiting, or a queue of the pool's, it is in one
// of the methods for that. A thread that waits for the queue's own lock does not.
func idles(frames []string) bool {
	if len(frames) == 0 || !ofJDK.MatchString(javaFrame(frames[0])) && !idleIn.MatchString(javaFrame(frames[0])) {
		return false
	}
	for _, f := range frames[:min(len(frames), maxIdleDepth)] {
		j := javaFrame(f)
		switch {
		case takesLock(f):
			return false
		case idleIn.MatchString(j):
			return true
		case !ofJDK.MatchString(j) && !poolQueue.MatchString(j):
			return false // works on something that waits
		}
	}
	return false
}

// housekeeping reports whether a thread is one of the JVM's own that always wait, which is not informative: by its name, which an
// application may give a thread as well, unless it has frames of an application.
func housekeeping(t *misstepv1.HungThread) bool {
	if _, app := boundary(t.GetJavaFrames()); app != "" {
		return false
	}
	for _, p := range []string{
		"Reference Handler", "Finalizer", "Signal Dispatcher", "Service Thread", "Monitor Deflation", "Common-Cleaner",
		"Notification Thread", "Attach Listener", "DestroyJavaVM", "VirtualThread-unblocker", "C1 CompilerThre", "C2 CompilerThre",
		"Sweeper thread", "VM Periodic", "VM Thread", "G1 ", "GC Thread", "misstep",
	} {
		if strings.HasPrefix(t.GetName(), p) {
			return true
		}
	}
	return false
}

// libcRE matches the C library's functions that implement waiting, and those below a thread's first function. Old ones of glibc
// leave _L_lock_N where a lock is contended.
var libcRE = regexp.MustCompile(`^(__.*|_L_(\w+_)?(un)?lock_\w+|pthread_.*|futex.*|do_futex_.*|lll_\w+|syscall|` +
	`(clock_)?nanosleep|clone3?|start_thread|sched_yield|sem_(timed|clock)?wait|` +
	`(poll|ppoll|select|pselect|epoll_p?wait|read|write)(64)?(@@?\S+)?|<signal handler called>)$`)

func libc(fn string) bool { return libcRE.MatchString(fn) }
