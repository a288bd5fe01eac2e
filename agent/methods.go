package agent

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// FileMethods is the name of the list of instrumented methods in the agent's folder, which the Java half writes
	// (MethodList.java), and of the evidence that is made from it.
	FileMethods = "methods.txt"
	// MaxMethods is the largest number of methods that are kept as evidence.
	MaxMethods = 4096
	// MaxMethodsBytes is the largest number of bytes that are read from a list.
	MaxMethodsBytes = 8 << 20
)

// ParseMethods parses a list of instrumented methods, one "package/Class.name(descriptor)result" per line, and returns them sorted
// and without duplicates. Lines that are not a method are ignored, like the unfinished last line of a JVM that died.
func ParseMethods(data []byte) []string { return parseMethods(data, math.MaxInt) }

// MethodsAsEvidence is ParseMethods for what is kept with a finding: of more than MaxMethods, those of the program are kept before
// those of the JDK.
func MethodsAsEvidence(data []byte) []string { return parseMethods(data, MaxMethods) }

func parseMethods(data []byte, most int) []string {
	text := string(data[:min(len(data), MaxMethodsBytes)])
	var own, jdk []string
	for line := range strings.Lines(text) {
		name, whole := strings.CutSuffix(line, "\n")
		dot, open := strings.IndexByte(name, '.'), strings.IndexByte(name, '(')
		switch {
		case !whole || dot <= 0 || open < dot+2 || name[0] == '#' || strings.ContainsAny(name, " \r") || !utf8.ValidString(name):
		case slices.ContainsFunc(platform, func(prefix string) bool { return strings.HasPrefix(name, prefix) }):
			jdk = append(jdk, name)
		default:
			own = append(own, name)
		}
	}
	slices.Sort(own)
	slices.Sort(jdk)
	methods := append(slices.Compact(own), slices.Compact(jdk)...)
	methods = methods[:min(len(methods), most)]
	slices.Sort(methods)
	return methods
}

// platform lists the prefixes of the JDK's package names.
var platform = []string{"java/", "javax/", "jdk/", "sun/", "com/sun/"}
