package report

import (
	"regexp"
	"strings"

	"misstep/signature"
	"misstep/triage"
)

// ofOpenJDK is where everybody may report bugs of OpenJDK; the tracker itself needs an account.
const ofOpenJDK = "https://bugreport.java.com (search https://bugs.openjdk.org first)"

// vendors are where the users of a build of the JDK report bugs, by what the name or the version of its VM has.
var vendors = []struct {
	build *regexp.Regexp
	where string
}{
	{regexp.MustCompile(`(?i)GraalVM|Graal `), "https://github.com/oracle/graal/issues"},
	{regexp.MustCompile(`(?i)OpenJ9|Semeru`), "https://github.com/eclipse-openj9/openj9/issues"},
	{regexp.MustCompile(`(?i)Temurin|Adopt`), "https://github.com/adoptium/adoptium-support/issues, or " + ofOpenJDK},
	{regexp.MustCompile(`(?i)Corretto|Amazon`), "the release's repository of https://github.com/corretto, or " + ofOpenJDK},
	{regexp.MustCompile(`(?i)\bJBR\b|JetBrains`), "https://youtrack.jetbrains.com/issues/JBR"},
	{regexp.MustCompile(`(?i)SapMachine`), "https://github.com/SAP/SapMachine/issues"},
	{regexp.MustCompile(`(?i)Microsoft`), "https://github.com/microsoft/openjdk/issues"},
	{regexp.MustCompile(`(?i)Zulu|Zing|Azul`), "Azul's support, or " + ofOpenJDK},
	{regexp.MustCompile(`(?i)Debian|deb\d+u|ubuntu`), "the distribution (reportbug, ubuntu-bug), or " + ofOpenJDK},
}

var (
	profilerRE = regexp.MustCompile(`StackWalker|Profiler::|libasyncProfiler|libjavaProfiler|WallClock::`)
	// jdkLibraryRE matches the libraries of the JDK, and those of the system.
	jdkLibraryRE = regexp.MustCompile(`^C (?:lib)?(?:jvm|java|jli|jimage|zip|net|nio|extnet|verify|management\w*|instrument|jdwp|` +
		`awt\w*|fontmanager|freetype|lcms|mlib_image|javajpeg|splashscreen|j2\w+|sunec|prefs|rmi|attach|saproc|syslookup|simdsort|svml|` +
		`c|m|pthread\w*|stdc\+\+|gcc_s)\b`)
	appMethodRE = regexp.MustCompile(`^(?:V Unsafe called by |J \w+ )?(.*)$`)
	jdkMethodRE = regexp.MustCompile(`^(?:java|javax|jdk|sun|com\.sun)\.`)
)

// whatNext says in a few sentences where a report that is no known bug is reported, what to collect and how to pass it on.
func (a *Answer) whatNext() string {
	if strings.Contains(a.Explanation.Assorted, "no memory") {
		return "No bug is looked for: the machine, its container or a limit (ulimit, cgroup) had no memory left. Compare what " +
			"the JVM takes (-XX:NativeMemoryTracking=summary, jcmd PID VM.native_memory) with the limit."
	}
	if a.Kind == signature.KindHang {
		return a.afterHang()
	}
	if sent := a.sentSignal(); sent != "" {
		return sent
	}
	return "Report it to " + a.where() + ". Attach the whole error file, the output of java -version, the flags, the versions of " +
		"native libraries and agents, and say how often it happens; keep the core file. If you can start the program again, " +
		"`misstep check --bundle DIR -- java …` looks for the crash under stack walks and packs what shows it."
}

// sentRE matches the details of a signal that was sent by kill or tgkill, not raised by an instruction (HotSpot: os_posix.cpp,
// os::print_siginfo), and the process that did.
var sentRE = regexp.MustCompile(`si_code[:=] ?(?:0 \(SI_USER|-6 \(SI_TKILL).*?(?:si_pid[:=] ?|sent from pid: )(\d+)`)

// sentSignal says what to do about a signal that a process sent; it is empty for a fault.
func (a *Answer) sentSignal() string {
	for _, f := range a.Explanation.Facts {
		text, _ := f.Value.(string)
		if m := sentRE.FindStringSubmatch(text); f.Name == triage.DetailFact && m != nil {
			return "Nothing failed in this thread: process " + m[1] + " sent the signal. Ask whoever runs that " +
				"process; an id of the JVM itself points at a library in it."
		}
	}
	return ""
}

// where returns who is asked about a crash.
func (a *Answer) where() string {
	frame, walker := "", ""
	for _, part := range a.Signature[1:] {
		if text, ok := strings.CutPrefix(part, "frame: "); ok {
			frame = text
		}
		if text, ok := strings.CutPrefix(part, "walker: "); ok {
			walker = text
		}
	}
	library := frame
	if _, caller, called := strings.Cut(frame, signature.CalledBy); called {
		library = caller
	}
	method := appMethodRE.FindStringSubmatch(library)[1]
	switch {
	case profilerRE.MatchString(frame + " " + walker):
		return "the profiler: https://github.com/async-profiler/async-profiler/issues, or the tracker of the agent that includes it"
	case strings.HasPrefix(frame, signature.UnsafeCaller) && !jdkMethodRE.MatchString(method):
		return "the maintainers of " + method + ", which gave Unsafe an address"
	case strings.HasPrefix(library, "C ") && !jdkLibraryRE.MatchString(library):
		return "the maintainers of " + strings.Fields(library)[1]
	}
	for _, v := range vendors {
		if v.build.MatchString(a.Explanation.JVM) {
			return "your JDK's vendor: " + v.where
		}
	}
	return "OpenJDK: " + ofOpenJDK + ", or your JDK's vendor"
}

func (a *Answer) afterHang() string {
	whose := "the program or library whose methods the signature names"
	if strings.HasPrefix(a.Explanation.Title, "hang: ") || strings.Contains(a.Explanation.Rule, "idle") {
		whose = "whoever runs the program, if it hangs at all"
	}
	return "It belongs to " + whose + "; to the JDK (https://bugreport.java.com) only if no method of theirs is in it. Take two " +
		"more dumps, ten seconds apart: `jcmd PID Thread.print -l`, and for virtual threads `jcmd PID Thread.dump_to_file " +
		"-format=json FILE`; give misstep triage both. If you can start the program again, `misstep check --bundle DIR -- java …` packs a hang that it finds."
}
