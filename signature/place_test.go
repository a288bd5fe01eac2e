package signature

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPlacesAreReadBackAsTheyWereWritten(t *testing.T) {
	for text, want := range map[string]Place{
		"upcall <clinit>":                      {Kind: Upcall, Method: "<clinit>"},
		"upcall loadClass, deoptimised caller": {Kind: Upcall, Method: "loadClass", Deoptimised: true},
		"upcall exception":                     {Kind: ExceptionUpcall},
		"below upcall <clinit>":                {Kind: BelowUpcall, Method: "<clinit>"},
		"below a.B.f":                          {Kind: BelowMethod, Method: "a.B.f"},
		"after a.B.f":                          {Kind: AfterMethod, Method: "a.B.f"},
		"a.B.f":                                {Kind: AtMethod, Method: "a.B.f"},
		"a.B.f <- a.C.g":                       {Kind: Edge, Method: "a.B.f", Caller: "a.C.g"},
		"(none) <- a.C.g":                      {Kind: Edge, Method: NoMethod, Caller: "a.C.g"},
		"native a.B.f":                         {Kind: NativeCaller, Method: "a.B.f"},
		"top: compiled subtype check":          {Kind: TopFrame, State: "compiled", Stage: "subtype check"},
		"code -5":                              {Kind: Code, Number: -5},
		"code -5, top: stub prologue":          {Kind: Code, Number: -5, State: "stub", Stage: "prologue"},
		"undefined code":                       {Kind: UndefinedCode},
		"deoptimised caller":                   {Kind: DeoptimisedCaller},
		"by vm: upcall loadClass":              {Kind: Upcall, Method: "loadClass", Sampler: "vm"},
		"by jdk.CPUTimeSample: a.B.f <- a.C.g": {Kind: Edge, Method: "a.B.f", Caller: "a.C.g", Sampler: "jdk.CPUTimeSample"},
		"recorded java.lang.Thread of jdk.ThreadEnd.thread": {Kind: Recorded, Method: "java.lang.Thread of jdk.ThreadEnd.thread"},
	} {
		got, err := ParsePlace(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, got, text)
		assert.Equal(t, text, got.String())
	}
}

func TestBadPlacesAreRefused(t *testing.T) {
	for _, text := range []string{"", "top: compiled", "code x", "code -5, below a.B.f", "by vm", "by : a.B.f", "by vm: ", "by vm: by vm: a.B.f"} {
		_, err := ParsePlace(text)
		assert.ErrorContains(t, err, "place", text)
	}
}
