package triage

import (
	"regexp"
	"slices"
	"strings"

	"misstep/signature"
)

// token is one thing that two findings may have in common.
type token struct {
	text string
	// says is in [0, 1]: how much it says about the cause that two findings share it.
	says float64
	// characteristic tokens make two findings neighbours. All others can only rank neighbours: however many of them are common,
	// findings of different bugs have them in common, too.
	characteristic bool
}

const little = 0.1 // what a frequent value says

// characteristic makes a token of a value that few bugs share, such as a function of the VM.
func characteristic(text string) token { return token{text, 1, true} }

// common makes a token of a value that counts fully and that many bugs share, such as a check.
func common(text string) token { return token{text, 1, false} }

// frequent makes a token of a value that most bugs share, such as the kind of a thread.
func frequent(text string) token { return token{text, little, false} }

// value returns the token of a frequent value. The absence of something says nothing, but its presence in one of two findings is a
// difference. What is unknown has no token, and is not compared.
func value(text string) []token {
	switch text {
	case "", signature.Unknown:
		return nil
	case "none":
		return []token{{text: text}}
	}
	return []token{frequent(text)}
}

// comparison of the tokens of one feature; all is 0 where there is nothing to compare.
type comparison struct {
	both, all, most float64
	characteristic  bool
}

// compare sums up what the common tokens of two values say (both) and what all of them say (all): a weighted Jaccard index. most is
// the maximum.
func compare(a, b []token) comparison {
	var c comparison
	if len(a) == 0 || len(b) == 0 {
		return c
	}
	seen := map[string]bool{}
	for _, t := range slices.Concat(a, b) {
		if seen[t.text] {
			continue
		}
		seen[t.text] = true
		c.all += t.says
		c.most = max(c.most, t.says)
		same := func(o token) bool { return o.text == t.text }
		if slices.ContainsFunc(a, same) && slices.ContainsFunc(b, same) {
			c.both += t.says
			c.characteristic = c.characteristic || t.characteristic
		}
	}
	return c
}

// placeTokens splits the place of a mismatch into its names.
func placeTokens(p signature.Place) []token {
	names := strings.Fields(p.String())
	if p.Kind == signature.Edge {
		names = []string{p.Method, p.Caller}
	}
	var out []token
	for _, name := range names {
		if name == signature.NoMethod {
			out = append(out, token{text: name})
			continue
		}
		out = append(out, characteristic(name))
	}
	return out
}

var (
	// assertionRE matches the text of a failed assertion, with its source file where that is known.
	assertionRE = regexp.MustCompile(`^(Internal|Out of Memory) Error (\S+\.[ch]pp )?\S`)
	// genericError matches errors that many places of the VM end in.
	genericError = regexp.MustCompile(`ShouldNot(ReachHere|CallThis)|Unimplemented|OutOfMemory encountered|Error \S+$`)
)

// errorTokens returns the tokens of a crash's error: a failed assertion is characteristic, a signal is not.
func errorTokens(err string) []token {
	switch {
	case !assertionRE.MatchString(err):
		return value(err)
	case genericError.MatchString(err):
		return []token{common(err)}
	}
	return []token{characteristic(err)}
}

// systemLibrary matches libraries in which programs crash for any reason: the VM's without a symbol, the C library, the JDK's.
var systemLibrary = regexp.MustCompile(
	`^(unknown|libjvm|jvm\.dll|libc[-.]|libpthread|ld-|libstdc|libgcc|libsystem_|libdyld|ntdll|kernel32|kernelbase|msvcr|ucrtbase|` +
		`vcruntime|libjava\.|java\.dll|libjli|libnio|libnet\.|\[)`)

// frameTokens returns the tokens of a blamed frame: its function or method, and the library of a C frame. What merely carried the
// crash out, memcpy or Unsafe, says little.
func frameTokens(frame string) []token {
	if code, caller, called := strings.Cut(frame, signature.CalledBy); called {
		return append(frameTokens(caller), frequent(code))
	}
	kind, name, _ := strings.Cut(frame, " ")
	switch {
	case frame == "" || frame == signature.UnknownFrame || name == "unknown" || name == signature.LibJVM:
		return nil
	case name == "":
		return []token{characteristic(kind)} // a method that called Unsafe
	case kind == "C":
		library, function, _ := strings.Cut(name, " ")
		of := characteristic("library " + library)
		if systemLibrary.MatchString(library) {
			of = frequent(of.text)
		}
		if function == "" {
			return []token{of}
		}
		return []token{of, characteristic(frame)}
	case kind == "J": // whatever compiled it
		_, method, _ := strings.Cut(name, " ")
		return []token{characteristic(method)}
	case kind == "v": // a stub works for everybody
		return []token{common(frame)}
	}
	return []token{characteristic(frame)}
}

// everyWalk reports whether a walker's every walk passes through a function: its entry, an anchor, or what stands for them.
func everyWalk(fn string) bool {
	return begins(fn, walkerEnds) || begins(fn, profilerEnds) || begins(fn, anchors) || fn == signature.StackScanning ||
		strings.HasPrefix(fn, "in ") ||
		slices.ContainsFunc(sameWalker, func(w struct{ prefix, name string }) bool { return w.name == fn })
}

// walkerTokens returns the tokens of the chain from a crash to the walker's entry.
func walkerTokens(walker []string) []token {
	switch {
	case len(walker) == 0:
		return value("none")
	case slices.Contains(walker, signature.Unknown):
		return nil
	}
	var out []token
	for _, fn := range walker {
		if everyWalk(fn) {
			out = append(out, frequent(fn))
			continue
		}
		out = append(out, characteristic(fn))
	}
	return out
}

// waiterRE matches who waits where; "calling M" names the JDK's method that the place waits in.
var waiterRE = regexp.MustCompile(`^(.*) (?:at|in|runs in) ([^ ]+(?: < [^ ]+)*)(?: calling [^ ]+)?$`)

// waiterParts splits a part of a hang's signature into who waits, where, and for what.
func waiterParts(waiter string) (who, place, lock string) {
	for _, more := range []string{signature.WaitsFor, signature.Initialises, signature.PinnedBy} {
		if before, after, found := strings.Cut(waiter, more); found {
			waiter, lock = before, after
		}
	}
	if m := waiterRE.FindStringSubmatch(waiter); m != nil {
		return m[1], m[2], lock
	}
	return waiter, "", lock
}

// waiterPlaces returns the tokens of where the threads of a hang wait.
func waiterPlaces(waiters []string) []token {
	var out []token
	for _, w := range waiters {
		_, place, _ := waiterParts(w)
		for fn := range strings.SplitSeq(place, " < ") {
			switch {
			case fn == "":
			case ofJDK.MatchString(fn):
				out = append(out, frequent(fn))
			default:
				out = append(out, walkerTokens([]string{fn})...)
			}
		}
	}
	if len(out) == 0 {
		return value("none")
	}
	return out
}

// waiterNames returns the tokens of the names of a hang's threads.
func waiterNames(waiters []string) []token {
	var out []token
	for _, w := range waiters {
		if who, _, _ := waiterParts(w); who != "thread" {
			out = append(out, value(who)...)
		}
	}
	return out
}
