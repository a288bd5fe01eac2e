package misstepv1_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	misstepv1 "misstep/proto/misstep/v1"
)

func TestKnownText(t *testing.T) {
	on := func(jdk, bug string) *misstepv1.KnownOn {
		return &misstepv1.KnownOn{Jdk: &misstepv1.Jdk{Name: jdk}, KnownAs: bug}
	}
	for _, c := range []struct {
		as   string
		on   []*misstepv1.KnownOn
		want string
	}{
		{"", nil, ""},
		{"JDK-1", nil, "JDK-1"}, // as in bundles of older versions
		{"", []*misstepv1.KnownOn{on("jdk8", ""), on("jdk25", "")}, ""},
		{"JDK-1", []*misstepv1.KnownOn{on("jdk8", "JDK-1"), on("jdk11", "JDK-1")}, "JDK-1"},
		{
			"",
			[]*misstepv1.KnownOn{on("jdk8", "JDK-1"), on("jdk11", "JDK-1"), on("jdk25", "")},
			"JDK-1 on jdk8, jdk11; not on jdk25",
		},
		{"", []*misstepv1.KnownOn{on("jdk8", ""), on("jdk11", "JDK-1")}, "JDK-1 on jdk11; not on jdk8"},
		{"JDK-1, JDK-2", []*misstepv1.KnownOn{on("jdk8", "JDK-1"), on("jdk11", "JDK-2")}, "JDK-1 on jdk8; JDK-2 on jdk11"},
		{"", []*misstepv1.KnownOn{on("ea", "JDK-1"), on("ea", "JDK-1"), on("ea", "")}, "JDK-1 on ea; not on ea"},
	} {
		assert.Equal(t, c.want, misstepv1.KnownText(&misstepv1.Finding{KnownAs: c.as, KnownOn: c.on}))
	}
}
