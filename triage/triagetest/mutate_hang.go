package triagetest

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	hungNameRE = regexp.MustCompile(`"(idle|teller|auditor|loader|evictor|philosopher|merger|flusher|train|replica|primary|writer|` +
		`reader|sensor|motor|left|right|consumer|order|report|startup|upload|stage|phase|trader|courier|producer|feed|valve|sleeper|` +
		`waiter|gate|retry|stamp|heir|parser|prober|refresh|lookup|server|console|child|device|spinner|hook|stopper)[- @].*?"`)
	poolRE = regexp.MustCompile(`"pool-(\d+)-thread-(\d+)"`)
)

// hungNames replaces what is new in each run in the names of a program's threads.
func hungNames(text string, random *rand.Rand) string {
	number := regexp.MustCompile(`\d+`)
	shift := 1 + random.IntN(50)
	text = renamed(text, poolRE, func(old string) string {
		first := true
		return number.ReplaceAllStringFunc(old, func(digits string) string {
			n, _ := strconv.Atoi(digits)
			if first {
				first = false
				n += shift
			}
			return fmt.Sprint(n)
		})
	})
	return renamed(text, hungNameRE, func(old string) string {
		if uuidRE.MatchString(old) || hashRE.MatchString(old) {
			return fresh(old, random)
		}
		at := strings.IndexAny(old, "- @")
		if old[at] == '@' { // object@hash[index]
			return fmt.Sprintf("%s@%08x[%d]\"", old[:at], random.Uint32()|1<<28, random.IntN(64))
		}
		return old[:at] + number.ReplaceAllStringFunc(old[at:], func(string) string { return fmt.Sprint(1 + random.IntN(250)) })
	})
}

// split returns what is before the threads of a dump, the threads, a paragraph each, and what is behind them, to which the last
// thread belongs: a cut dump may end in it.
func split(text string) (head string, threads []string, tail string) {
	at := strings.Index(text, "\n\"")
	if at < 0 || strings.HasPrefix(strings.TrimSpace(text), "{") {
		return text, nil, ""
	}
	head, text = text[:at+1], text[at+1:]
	if end := strings.Index(text, "JNI global ref"); end >= 0 {
		text, tail = text[:end], text[end:]
	}
	for {
		end := strings.Index(text, "\n\n\"")
		if end < 0 {
			return head, threads, text + tail
		}
		threads, text = append(threads, text[:end+2]), text[end+2:]
	}
}

// threadOrder shuffles the threads of a whole dump.
func threadOrder(text string, random *rand.Rand) string {
	head, threads, tail := split(text)
	if !strings.Contains(tail, "JNI global") {
		return text // cut
	}
	random.Shuffle(len(threads), func(i, k int) { threads[i], threads[k] = threads[k], threads[i] })
	return head + strings.Join(threads, "") + tail
}

// idleWorkers adds a pool that has nothing to do, or makes one larger.
func idleWorkers(text string, random *rand.Rand) string {
	head, threads, tail := split(text)
	for _, t := range threads {
		if !strings.HasPrefix(t, `"pool-`) || !strings.Contains(t, "ThreadPoolExecutor.getTask") {
			continue
		}
		for i := range 1 + random.IntN(40) {
			copied := poolRE.ReplaceAllString(t, fmt.Sprintf(`"pool-%d-thread-%d"`, 100+random.IntN(4), i+1))
			copied = regexp.MustCompile(`tid=0x[0-9a-f]+`).ReplaceAllString(copied, fmt.Sprintf("tid=0x%016x", 1<<44+random.Uint64N(1<<40)))
			copied = regexp.MustCompile(`nid=(0x)?[0-9a-f]+`).ReplaceAllString(copied, fmt.Sprintf("nid=${1}%d", 3_900_000+i))
			copied = regexp.MustCompile(`" #\d+`).ReplaceAllString(copied, fmt.Sprintf(`" #%d`, 900+i))
			copied = regexp.MustCompile(` \[\d+\] `).ReplaceAllString(copied, fmt.Sprintf(` [%d] `, 3_900_000+i))
			threads = slices.Insert(threads, random.IntN(len(threads)+1), copied)
		}
		break
	}
	return head + strings.Join(threads, "") + tail
}
