package main

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVersion(t *testing.T) {
	for _, args := range []string{"--version", "hunt --version"} {
		var out, errs strings.Builder
		assert.Equal(t, exitOK, run(t.Context(), strings.Fields(args), &out, &errs), args)
		assert.Regexp(t, `^misstep \S+ \(commit [0-9a-f]+.*\), go1\.\S+, agent ABI \d+\n$|^misstep .*commit unknown.*agent ABI \d+\n$`,
			out.String())
		assert.Empty(t, errs.String())
	}
	info := &debug.BuildInfo{GoVersion: "go1.99", Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"},
	}}
	info.Main.Version = "v1.2.3"
	assert.Equal(t, "misstep v1.2.3 (commit abc, modified), go1.99, agent ABI 2", versionText("", info))
	assert.Equal(t, "misstep (devel) (commit unknown), Go unknown, agent ABI 2", versionText("", nil))
	assert.Equal(t, "misstep 0.9 (commit abc, modified), go1.99, agent ABI 2", versionText("0.9", info))
}
