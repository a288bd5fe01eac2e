package jfrcheck

import (
	"regexp"
	"strings"

	"misstep/runner/recording"
)

var (
	// madeAt matches the end of the name of a class that was made as the program ran: its address, and the hash of its mirror that
	// JFR adds before JDK 21.
	madeAt = regexp.MustCompile(`(\$[^.]*?)([.+/](0x[0-9a-f]+|[0-9]+))+$`)
	// numbered matches the names of classes that are numbered in the order in which they were made: lambdas before JDK 21, proxies,
	// and what calls a method by reflection.
	numbered = regexp.MustCompile(`(\$\$Lambda|\$Proxy|\.Generated\w*Accessor)\$?[0-9]+$`)
)

// lastingName names a method without what its class's name has of one run only, so that two runs have the same.
func lastingName(m *recording.Method) string {
	name := methodName(m)
	if m == nil || m.Class == "" {
		return name
	}
	class := numbered.ReplaceAllString(madeAt.ReplaceAllString(m.Class, "$1"), "$1")
	return class + strings.TrimPrefix(name, m.Class)
}
