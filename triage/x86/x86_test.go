package x86

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/triage/stage"
)

// One moment for each rule. More, as real JVMs gave them, are in the transcripts of triage.
func TestEachRuleTellsItsStage(t *testing.T) {
	reached := map[string]bool{}
	for _, test := range []struct {
		by, stage string
		moment    stage.Moment
		code      string
	}{
		{"C code that has no frame", stage.Prologue, stage.Moment{State: native, SP: 1000, FP: 2000, ReturnAt: 1008}, "90"},
		{"C code called by a collector's barrier", stage.Barrier, returning(compiled, "48 83 c4 10 e9 00 00 00 00"), "90"},
		{
			"C code with an aligned stack", stage.Aligned,
			stage.Moment{State: native, ReturnState: compiled, ReturnCopied: true},
			"90",
		},
		{
			"C1's System.arraycopy between its pushes and pops", stage.SubtypeCheck,
			stage.Moment{State: compiled, CopiesArray: true},
			"48 3b c8 0f 84 00 00 00 00 8b 48 14",
		},
		{"C code that looks for an exception's handler", stage.Epilogue, returning(interpreted, "48 8b d8 5a 58 ff e3"), "90"},
		{
			"a jump to a stub, the return address on top", stage.Epilogue,
			stage.Moment{State: compiled, SP: 1000, ReturnAt: 1000},
			"e9 00 00 00 10",
		},
		{"an instruction that sets up a frame", stage.Prologue, stage.Moment{State: compiled}, "89 84 24 00 c0 fe ff"},
		{"an instruction that takes down a frame", stage.Epilogue, stage.Moment{State: compiled}, "5d 49 3b a7"},
		{"sub rsp", stage.Prologue, stage.Moment{State: compiled}, "48 83 ec 20"},
		{"add rsp", stage.Epilogue, stage.Moment{State: stub}, "48 83 c4 20"},
		{"no code", stage.Unknown, stage.Moment{State: compiled}, ""},
		{"a C function's first instructions", stage.Prologue, stage.Moment{State: native}, "41 57 48 89 e5"},
		{"the interpreter's entry of a method", stage.Prologue, stage.Moment{State: interpreted}, "2b d1 81 fa"},
		{"the end of the interpreter's entry", stage.Prologue, stage.Moment{State: interpreted}, "90 50 55 48 8b ec"},
		{"the interpreter's exit of a method", stage.Epilogue, stage.Moment{State: interpreted}, "48 8b e3 41 ff e5"},
		{"C1's subtype check, which pops its words", stage.SubtypeCheck, stage.Moment{State: compiled}, "5b 5e 83 fe 00"},
		{"C2's string search", stage.StringSearch, stage.Moment{State: compiled}, "7d 0a bb ff ff ff ff e9 01 02 03 04 48 8d"},
		{
			"registers saved for a barrier", stage.Barrier,
			stage.Moment{State: compiled},
			"48 89 44 24 20 48 89 4c 24 18 48 89 54 24 10",
		},
		{
			"the arguments of ZGC's store barrier", stage.Barrier,
			stage.Moment{State: compiled},
			"48 8d 38 e8 00 00 00 00 48 8b 0c 24",
		},
		{
			"the call of ZGC's load barrier", stage.Barrier,
			stage.Moment{State: compiled},
			"e8 00 00 00 7f 48 8b d8 48 8b 0c 24 48 8b 54 24 08",
		},
		{"registers restored after a barrier", stage.Barrier, stage.Moment{State: compiled}, "48 8b 0c 24 48 83 c4 10 e9"},
		{"a jump to the stub that looks for a handler", stage.Epilogue, stage.Moment{State: compiled}, "e9 00 00 00 00 f4 f4"},
		{"a stub's jump by a register", stage.Epilogue, stage.Moment{State: stub}, "41 ff e2"},
		{"the end of the exception blob", stage.Epilogue, stage.Moment{State: stub}, "5a 4c 8b c0 49 8b 87"},
		{"a stub that restores all registers", stage.Epilogue, stage.Moment{State: stub}, "48 8b 44 24 78 48 8b 4c 24 70"},
		{"a stub that saves all registers", stage.Prologue, stage.Moment{State: stub}, "48 89 44 24 78 48 89 4c 24 70"},
		{"C1's allocation stub", stage.Prologue, stage.Moment{State: stub}, "57 53 49 8b 47"},
		{"C1's finalizer stub", stage.Prologue, stage.Moment{State: stub}, "f7 c6 00 00 00 40 0f 85 01 00 00 00 c3"},
		{"compiled code that searches a string", stage.StringSearch, stage.Moment{State: compiled, SearchesString: true}, "90"},
		{
			"compiled code that compresses a string", stage.StringCompression,
			stage.Moment{State: compiled, CompressesString: true},
			"c5 e1 eb d9 c5 fa 6f 54 56 10",
		},
		{"no instruction that tells", stage.Body, stage.Moment{State: interpreted}, "48 83 ec 20"},
	} {
		test.moment.Code = code(t, test.code)
		got := Read(test.moment)
		assert.Equal(t, test.stage, got.Stage, test.by)
		assert.Equal(t, test.by, got.By)
		reached[got.By] = true
	}
	for _, r := range append(moments, instructions...) {
		assert.True(t, reached[r.by], "no moment reaches %q", r.by)
	}
}

// A walk begins elsewhere only where C code hides the frame below.
func TestWhereAWalkBegins(t *testing.T) {
	assert.True(t, Read(stage.Moment{State: native, SP: 1000, FP: 2000, ReturnAt: 1008}).Elsewhere)
	assert.False(t, Read(stage.Moment{State: native, SP: 1000, FP: 1000, ReturnAt: 1008}).Elsewhere, "its frame pointer is set")
	assert.False(t, Read(stage.Moment{State: compiled, Code: []byte{0x55}}).Elsewhere)
}

// returning is the moment of C code that returns to other code.
func returning(state, code string) stage.Moment {
	bytes, err := hex.DecodeString(strings.ReplaceAll(code, " ", ""))
	if err != nil {
		panic(err)
	}
	return stage.Moment{State: native, ReturnState: state, ReturnCode: bytes}
}

func code(t *testing.T, text string) []byte {
	t.Helper()
	bytes, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	require.NoError(t, err)
	return bytes
}

func TestPatterns(t *testing.T) {
	all := parse("48 ?? 0f # two bytes around any\n\n# nothing\n\tc3")
	assert.Equal(t, patterns{{0x48, anything, 0x0f}, {0xc3}}, all)
	assert.True(t, all.begin([]byte{0x48, 1, 0x0f, 9}))
	assert.True(t, all.begin([]byte{0xc3}))
	assert.False(t, all.begin([]byte{0x48, 1}), "cut off")
	assert.Panics(t, func() { parse("4g") })
	assert.Panics(t, func() { parse("123") })
}

// Read terminates without a panic, whatever a signal hits.
func FuzzRead(f *testing.F) {
	f.Add("compiled", []byte{0x48, 0x8b, 0x44, 0x24}, "compiled", []byte{0xc5, 0xf8, 0x77})
	f.Fuzz(func(t *testing.T, state string, code []byte, returnState string, returnCode []byte) {
		m := stage.Moment{State: state, Code: code, ReturnState: returnState, ReturnCode: returnCode, CopiesArray: len(code)%2 == 0}
		first := Read(m)
		if second := Read(m); first != second {
			t.Fatalf("two readings of one moment: %v and %v", first, second)
		}
	})
}
