package report

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"misstep/known"
)

func TestJVM(t *testing.T) {
	for _, test := range []struct {
		form    form
		text    string
		jvm     string
		version known.Version
	}{
		{
			errorFile, "OpenJDK Runtime Environment (8.0_171-b11) (build 1.8.0_171-b11)",
			"OpenJDK Runtime Environment (8.0_171-b11) (build 1.8.0_171-b11)",
			known.Version{8, 0, 171},
		},
		{
			errorFile, "OpenJDK Runtime Environment Corretto-21.0.7.6.1 (21.0.7+6) (build 21.0.7+6-LTS)",
			"OpenJDK Runtime Environment Corretto-21.0.7.6.1 (21.0.7+6) (build 21.0.7+6-LTS)",
			known.Version{21, 0, 7},
		},
		{
			errorFile, "OpenJDK Runtime Environment (21.0.7) (fastdebug build 21.0.7-internal-adhoc.root.jdk)",
			"OpenJDK Runtime Environment (21.0.7) (fastdebug build 21.0.7-internal-adhoc.root.jdk)",
			known.Version{21, 0, 7},
		},
		{
			errorFile, "Java(TM) SE Runtime Environment (7.0_51-b13) (build 1.7.0_51-b13)",
			"Java(TM) SE Runtime Environment (7.0_51-b13) (build 1.7.0_51-b13)",
			known.Version{1, 7, 0},
		},
		{
			printed, "Full thread dump OpenJDK 64-Bit Server VM (25.442-b06 mixed mode):\n",
			"OpenJDK 64-Bit Server VM 8u442",
			known.Version{8, 0, 442},
		},
		{
			printed, "Full thread dump OpenJDK 64-Bit Server VM (25.0.3+9-LTS mixed mode, sharing):\n",
			"OpenJDK 64-Bit Server VM 25.0.3+9-LTS",
			known.Version{25, 0, 3},
		},
		{
			printed, "Full thread dump Java HotSpot(TM) 64-Bit Server VM (17+35-LTS-2724 mixed mode, sharing):\n",
			"Java HotSpot(TM) 64-Bit Server VM 17+35-LTS-2724",
			known.Version{17, 0, 0},
		},
		{dumped, `{"threadDump": {"runtimeVersion": "28-ea+18-1"}}`, "28-ea+18-1", known.Version{28, 0, 0}},
		{dumped, "25.0.3+9-LTS\n#1 \"main\"\n", "25.0.3+9-LTS", known.Version{25, 0, 3}},
		{dumped, "the log\n#1 \"main\"\n", "", known.Version{}},
		{printed, "\"main\" #1 tid=0x1\n", "", known.Version{}},
		{errorFile, "", "", known.Version{}},
	} {
		from := dumperOf(section{form: test.form, text: []byte(test.text)})
		if test.form == errorFile {
			from = jreOf(test.text)
		}
		assert.Equal(t, test.jvm, from.name, test.text)
		parsed, _ := known.ParseVersion(from.version)
		assert.Equal(t, test.version, parsed, test.text)
	}
}
