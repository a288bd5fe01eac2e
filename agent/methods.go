package agent

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// FileMethods is the list of instrumented methods in the agent's folder, which the Java half writes (MethodList.java); sorted it is
	// evidence of that name.
	FileMethods = "methods.txt"
	// MaxMethods that a list has, and MaxMethodsBytes of it.
	MaxMethods      = 4096
	MaxMethodsBytes = 1 << 20
)

// ParseMethods reads a list of instrumented methods, "package/Class.name(descriptor)result" a line, and gives them sorted, each once.
// Empty is a list that had no room for all of them, or is none: what is narrowed to a part may miss what a finding needs. A last line
// that a dying JVM did not finish is left out.
func ParseMethods(data []byte) (methods []string) {
	text := string(data)
	end := strings.LastIndexByte(text, '\n') + 1
	if len(data) > MaxMethodsBytes || !utf8.ValidString(text[:end]) {
		return nil
	}
	for line := range strings.Lines(text[:end]) {
		line = strings.TrimSuffix(line, "\n")
		switch dot, open := strings.IndexByte(line, '.'), strings.IndexByte(line, '('); {
		case line == "" || line[0] == '#':
		case dot <= 0 || open < dot+2 || strings.ContainsAny(line, " \r"):
			return nil
		default:
			methods = append(methods, line)
		}
	}
	slices.Sort(methods)
	if methods = slices.Compact(methods); len(methods) > MaxMethods {
		return nil
	}
	return methods
}
