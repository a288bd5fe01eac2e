package jfrcheck

import (
	"strings"

	"misstep/runner/recording"
)

// tracing are the filters of jdk.MethodTrace and jdk.MethodTiming (JEP 520). JFR instruments the methods that they name, so that
// what runs is not what the class files have, even where the lines are.
type tracing map[string]bool

// traces reports whether events of a type come from methods that JFR instruments.
func traces(event string) bool { return event == "jdk.MethodTrace" || event == "jdk.MethodTiming" }

// mostFilters are kept.
const mostFilters = 1024

func (t tracing) setting(s *recording.Setting) {
	if !traces(s.Type) || s.Name != "filter" {
		return
	}
	for filter := range strings.SplitSeq(s.Value, ";") {
		if filter = strings.TrimSpace(filter); filter != "" && len(t) < mostFilters {
			t[filter] = true
		}
	}
}

// has reports whether a method may be instrumented. A filter is CLASS, CLASS::METHOD or ::METHOD; where it is an @ANNOTATION, any
// method may be (jdk.jfr.internal.tracing Filter.java).
func (t tracing) has(class, method string) bool {
	for filter := range t {
		of, name, has := strings.Cut(filter, "::")
		if strings.HasPrefix(filter, "@") || (of == "" || of == class) && (!has || name == method) {
			return true
		}
	}
	return false
}
