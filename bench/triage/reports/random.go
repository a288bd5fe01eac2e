package reports

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// threadNames are patterns of names that programs give their threads; some have words that HotSpot has for its own.
var threadNames = []string{
	"worker-%d", "req-%u", "WorkerThread-%d", "G1 Conc loader %d", "VM Thread watcher %x", "CompilerThread dispatcher", "main%d",
	"GC Thread#%d", "C2 CompilerThread%d", "WatcherThread", "JFR Thread Sampler of %x", "JavaThread \"%d\"", "conn [id=%d]",
	"http-nio-8080-exec-%d", "VMThread", "pool-%d-thread-%d", "[_thread_in_vm, id=%d]",
}

// libraryNames are patterns of the names under which programs unpack their libraries; %d, %x and %u are made anew in each run. A
// program keeps its pattern, so a cause does.
var libraryNames = []string{
	"libvault%d.so", "vault%d.tmp", "vault-1.4.2-%u-libvault.so", "libvault_%x.so", "libvault_x86_64%d.so", "jvault-%d.tmp",
	"vault-%x.so.tmp", "libvault.%u.so",
}

// fill replaces %d by a number, %x by a hash and %u by a UUID.
func fill(pattern string, random *rand.Rand) string {
	for {
		at := strings.IndexByte(pattern, '%')
		if at < 0 || at+1 == len(pattern) {
			return pattern
		}
		var with string
		switch a, b := random.Uint64(), random.Uint64(); pattern[at+1] {
		case 'd':
			with = fmt.Sprint(a % 1_000_000)
			if strings.Contains(pattern, "vault") { // as createTempFile does
				with = fmt.Sprint(a | 1<<62)
			}
		case 'x':
			with = fmt.Sprintf("%016x", a|1<<60)
		default:
			with = fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>48&0xfff, b&(1<<48-1))
		}
		pattern = pattern[:at] + with + pattern[at+2:]
	}
}
