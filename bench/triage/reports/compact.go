package reports

import (
	"regexp"
	"strings"
)

// dropped are the first words of paragraphs of an error file that no reader of crashes looks at: contents of registers and memory,
// maps, events, the machine.
var dropped = regexp.MustCompile(`^(Registers|Register to memory|Top of Stack|Instructions|Stack slot|R[A-Z0-9]+ ?=|stack at sp|` +
	`Dynamic libraries|Heap|Metaspace|Usage|Virtual space|Chunk|MaxMetaspace|CodeHeap|CodeCache|Code Cache|Compilation events|` +
	`GC Heap History|Dll operation|Deoptimization events|Classes|Internal exceptions|VM Operations|Memory protections|Nmethod|` +
	`Events|Environment|Signal Handlers|Active Locale|Native Memory|OS:|/proc|CPU|Memory:|VM Arguments|Logging|\[Global flags|` +
	`Global flags|Card table|Polling page|Marking Bits|Narrow klass|CDS|GC Precious|Internal statistics|` +
	`Total Usage|OS uptime|libc:|rlimit|load average|container|Process Memory|glibc malloc|Steal|Trim|Transparent|Container|` +
	`Host:|Hard|Periodic|Threads class SMR|uname|Release file|Object Monitors|Locked|Barrier|` +
	`\d+ events|Event|Memory map|Decoder|UseCompressed|Compressed class|Page Sizes|Statistics|Unloaded|Loaded|ZGC|` +
	`XMM|num_|/sys|KVM|Online|Threads with|Time to|jvm_args|Lookup|Oops|Last |Preallocated)`)

// compact returns an error file without the paragraphs that no reader looks at.
func compact(text string) string {
	var kept []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if !dropped.MatchString(strings.TrimLeft(paragraph, "\n")) {
			kept = append(kept, paragraph)
		}
	}
	return strings.Join(kept, "\n\n")
}
