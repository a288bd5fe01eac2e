package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	misstepv1 "misstep/proto/misstep/v1"
)

func TestFindingsKnownInPart(t *testing.T) {
	var b bytes.Buffer
	renderFindings(&b, []*misstepv1.Finding{
		{Id: "F1", KnownOn: []*misstepv1.KnownOn{{Jdk: &misstepv1.Jdk{Name: "jdk8"}, KnownAs: "JDK-8302320"}, {Jdk: &misstepv1.Jdk{Name: "jdk25"}}}},
		{Id: "F2", KnownOn: []*misstepv1.KnownOn{{Jdk: &misstepv1.Jdk{Name: "jdk25"}}}},
	}, nil)
	assert.Contains(t, b.String(), "F1       JDK-8302320 on jdk8; not on jdk25  0")
	assert.Contains(t, b.String(), "F2       -  ")
}
