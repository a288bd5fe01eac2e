package agent

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// FileMethods is the list of instrumented methods in the agent's folder, which the Java half writes (MethodList.java), and the evidence
	// that is made of it.
	FileMethods = "methods.txt"
	// MaxMethods that are taken from a list.
	MaxMethods = 4096
	// MaxMethodsBytes that are read of a list.
	MaxMethodsBytes = 8 << 20
)

// ParseMethods reads a list of instrumented methods, "package/Class.name(descriptor)result" a line, and gives them sorted, each once. Of
// too many those of the program stay before those of the JDK. Lines that are no method are left out, as the last one of a JVM that died
// while it wrote.
func ParseMethods(data []byte) []string {
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
	methods = methods[:min(len(methods), MaxMethods)]
	slices.Sort(methods)
	return methods
}

// platform are the beginnings of the names of the JDK's packages.
var platform = []string{"java/", "javax/", "jdk/", "sun/", "com/sun/"}
