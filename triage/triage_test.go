package triage_test

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
	"misstep/triage"
)

// The files in testdata hold observations in short form and their signatures; -rewrite updates them. A changed signature turns old
// findings into new ones in every store: that must be a decision, not a side effect.
func TestSignatures(t *testing.T) {
	reached := map[string]bool{}
	datadriven.Walk(t, "testdata", func(t *testing.T, file string) {
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			o := &misstepv1.Outcome{}
			switch d.Cmd {
			case "mismatch":
				o.Mismatches = []*misstepv1.Mismatch{mismatch(t, d)}
			case "recording":
				o.Mismatches = []*misstepv1.Mismatch{recordingFault(t, d)}
			case "crash":
				o.Crash = crash(t, d)
			case "hang":
				o.Hang = hang(d)
			case "class":
				return each(d.Input, signature.Class)
			case "method":
				return each(d.Input, signature.Method)
			case "thread":
				return each(d.Input, triage.ThreadName)
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			hits := triage.Triage(o)
			require.Len(t, hits, 1)
			text := fmt.Sprintf("%s %s\n", hits[0].ID, hits[0].Signature.GetKind())
			for _, part := range hits[0].Signature.GetParts() {
				text += "  " + part + "\n"
			}
			text += fmt.Sprintf("  %q\n", hits[0].Title)
			for _, m := range o.GetMismatches() {
				rule := triage.ExplainMismatch(m).Rule
				reached[rule] = true
				text += "  by " + rule + "\n"
			}
			return text
		})
	})
	for _, rule := range triage.RuleNames() {
		assert.Truef(t, reached[rule], "no transcript reaches the rule %s", rule)
	}
}

func each(lines string, f func(string) string) string {
	var b strings.Builder
	for l := range strings.Lines(lines) {
		b.WriteString(f(strings.TrimSpace(l)) + "\n")
	}
	return b.String()
}

var frameRE = regexp.MustCompile(`^(\S*)\.([^.(]+)(\(.*\S)?@(-?\d+)$`)

func frame(t *testing.T, s string) *misstepv1.Frame {
	t.Helper()
	m := frameRE.FindStringSubmatch(s)
	require.NotNilf(t, m, "frame %q", s)
	bci, err := strconv.ParseInt(m[4], 10, 32)
	require.NoError(t, err)
	return &misstepv1.Frame{ClassName: m[1], Method: m[2], Descriptor_: m[3], Bci: int32(bci)}
}

// recording CHECK KIND type=T referrer=R field=F id=N detail=D.
func recordingFault(t *testing.T, d *datadriven.TestData) *misstepv1.Mismatch {
	f := &misstepv1.RecordingFault{}
	d.MaybeScanArgs(t, "type", &f.Type)
	d.MaybeScanArgs(t, "referrer", &f.Referrer)
	d.MaybeScanArgs(t, "field", &f.Field)
	d.MaybeScanArgs(t, "id", &f.Id)
	f.Field = strings.ReplaceAll(f.Field, "_", " ")
	return &misstepv1.Mismatch{Check: d.CmdArgs[0].Key, Kind: d.CmdArgs[1].Key, RecordingFault: f}
}

// mismatch CHECK KIND sampler=S state=S arch=A code=HEX num=CODE deoptimised=FRAME: lines are frames, top first. One that starts
// with = is in both traces, < in the reference only, > in the suspect only.
func mismatch(t *testing.T, d *datadriven.TestData) *misstepv1.Mismatch {
	check, kind := d.CmdArgs[0].Key, d.CmdArgs[1].Key
	options := *d
	options.CmdArgs = d.CmdArgs[2:] // "code" is a kind too
	d = &options
	var num int
	m := &misstepv1.Mismatch{Check: check, Kind: kind, Reference: &misstepv1.Trace{}, Suspect: &misstepv1.Trace{}}
	d.MaybeScanArgs(t, "state", &m.TopState)
	d.MaybeScanArgs(t, "arch", &m.Architecture)
	d.MaybeScanArgs(t, "num", &num)
	d.MaybeScanArgs(t, "sampler", &m.Suspect.Sampler)
	m.Suspect.NumFrames = int32(num)
	var caller string
	if d.MaybeScanArgs(t, "deoptimised", &caller) {
		m.DeoptimisedCaller = frame(t, caller)
	}
	var code string
	if d.MaybeScanArgs(t, "code", &code) {
		var err error
		m.Code, err = hex.DecodeString(code)
		require.NoError(t, err)
		m.Pc = 0x7f0011223344
	}
	var stack []uint64 // by how much fp and return_at are above sp
	if d.MaybeScanArgs(t, "stack", &stack) {
		m.Sp = 0x7fff00001000
		m.Fp, m.ReturnAt = m.Sp+stack[0], m.Sp+stack[1]
	}
	var entered string
	if d.MaybeScanArgs(t, "entered", &entered) { // the VM's entry into Java code is on the stack
		m.Stack = append(m.Stack, &misstepv1.StackWord{At: 0x7fff00002000, Code: "stub " + entered})
	}
	var calls string
	if d.MaybeScanArgs(t, "calls", &calls) {
		m.TopCall = frame(t, calls)
	}
	// the code to which the top frame returns
	for key, state := range map[string]string{"returns": "compiled", "interpreter": "interpreted"} {
		var returns string
		if d.MaybeScanArgs(t, key, &returns) {
			var err error
			m.ReturnCode, err = hex.DecodeString(returns)
			require.NoError(t, err)
			m.ReturnState, m.ReturnCopied = state, d.HasArg("copied")
		}
	}
	for l := range strings.Lines(d.Input) {
		mark, f := l[0], frame(t, strings.TrimSpace(l[1:]))
		if mark != '>' {
			m.Reference.Frames = append(m.Reference.Frames, f)
		}
		if mark != '<' {
			m.Suspect.Frames = append(m.Suspect.Frames, proto.CloneOf(f))
		}
	}
	return m
}

// crash: lines are "key: value" as in hs_err, native frames follow "native:", Java frames "java:".
func crash(t *testing.T, d *datadriven.TestData) *misstepv1.Crash {
	c := &misstepv1.Crash{}
	native, java := false, false
	for l := range strings.Lines(d.Input) {
		l = strings.TrimSpace(l)
		key, value, _ := strings.Cut(l, ": ")
		switch {
		case java:
			c.JavaFrames = append(c.JavaFrames, l)
		case native:
			c.NativeFrames = append(c.NativeFrames, l)
		case key == "error":
			c.Error = value
		case key == "frame":
			c.ProblematicFrame = value
		case key == "thread":
			c.Thread = value
		case key == "operation":
			c.VmOperation = value
		case key == "detail":
			c.Detail = value
		case key == "phase":
			c.InWalk, c.Phase = true, value
		case l == "native:":
			native = true
		case l == "java:":
			java = true
		default:
			d.Fatalf(t, "unknown line %q", l)
		}
	}
	return c
}

// hang CAUSE: a line that ends in a colon names a thread; N and J lines are its frames, WAITS has the class of a lock and the name
// of its holder, VIRTUAL the carrier's id of a virtual thread that has one, RAN the share of the time.
func hang(d *datadriven.TestData) *misstepv1.Hang {
	h := &misstepv1.Hang{Cause: d.CmdArgs[0].Key}
	for l := range strings.Lines(d.Input) {
		l = strings.TrimSpace(l)
		if name, ok := strings.CutSuffix(l, ":"); ok {
			h.Threads = append(h.Threads, &misstepv1.HungThread{Name: name})
			continue
		}
		th := h.Threads[len(h.Threads)-1]
		mark, rest, _ := strings.Cut(l, " ")
		switch mark {
		case "N":
			th.NativeFrames = append(th.NativeFrames, rest)
		case "J":
			th.JavaFrames = append(th.JavaFrames, rest)
		case "WAITS":
			th.WaitsFor, th.HeldBy, _ = strings.Cut(rest, " ")
		case "VIRTUAL":
			th.Virtual = true
			th.Tid, _ = strconv.ParseInt(rest, 10, 64)
		case "RAN":
			th.Running, _ = strconv.ParseFloat(rest, 64)
		}
	}
	return h
}

func TestTriage(t *testing.T) {
	deep := clinit(10)
	shallow := clinit(3)
	o := &misstepv1.Outcome{
		Mismatches: []*misstepv1.Mismatch{deep, shallow, {Check: "gst-asgct", Kind: "wrong-bci"}},
		Crash:      &misstepv1.Crash{Error: "SIGSEGV (0xb)"},
	}
	before := proto.CloneOf(o)
	hits := triage.Triage(o)
	require.Len(t, hits, 3, "the two of one bug are one hit, and a crash does not hide what came before it")
	assert.IsIncreasing(t, []string{hits[0].ID, hits[1].ID, hits[2].ID})
	slim := triage.Slim(o, hits)
	assert.True(t, proto.Equal(before, o), "the argument is not changed")
	assert.Empty(t, slim.GetMismatches()[0].GetReference().GetFrames())
	assert.Empty(t, slim.GetMismatches()[0].GetStack())
	assert.True(t, proto.Equal(shallow, slim.GetMismatches()[1]), "the smallest keeps its stacks")
	assert.EqualValues(t, 7, slim.GetMismatches()[0].GetCount())

	assert.Empty(t, triage.Triage(&misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN}))
	assert.Empty(t, triage.Triage(&misstepv1.Outcome{ApplicationFailure: &misstepv1.ApplicationFailure{Reason: "validation"}}),
		"the workload's own failure is no finding")
	assert.Empty(t, triage.Triage(nil))
}

func clinit(depth int) *misstepv1.Mismatch {
	ref := []*misstepv1.Frame{{ClassName: "C", Method: "<clinit>", Bci: 3}}
	for i := range depth {
		ref = append(ref, &misstepv1.Frame{ClassName: "M" + strconv.Itoa(i), Method: "run", Bci: 9})
	}
	return &misstepv1.Mismatch{
		Check: "gst-asgct", Kind: "truncated", Count: 7, Stack: []*misstepv1.StackWord{{Code: "interpreter"}},
		Reference: &misstepv1.Trace{Frames: ref}, Suspect: &misstepv1.Trace{Frames: ref[:1]},
	}
}

// Whatever an agent reports, triage returns bounded, printable text, the same each time.
func FuzzMismatch(f *testing.F) {
	f.Add("foreign", "asgct-shadow", "run", uint8(9), uint8(7), []byte{0x90})
	f.Add("truncated", "a.B", "<clinit>", uint8(4), uint8(2), []byte{0x5d})
	f.Add("foreign", "a.B$$Lambda/0x1", "run\n", uint8(0), uint8(9), []byte{})
	f.Fuzz(func(t *testing.T, kind, class, method string, refs, suspects uint8, code []byte) {
		frames := func(n uint8) []*misstepv1.Frame {
			var out []*misstepv1.Frame
			for i := range n % 40 {
				out = append(out, &misstepv1.Frame{ClassName: class, Method: method + strconv.Itoa(int(i%3)), Bci: int32(i)})
			}
			return out
		}
		m := &misstepv1.Mismatch{
			Check: class, Kind: kind, Code: code, Divergence: uint32(refs), Reference: &misstepv1.Trace{Frames: frames(refs)},
			Suspect: &misstepv1.Trace{Frames: frames(suspects)},
		}
		m.TopState = []string{"", "interpreted", "native", "compiled"}[refs%4]
		m.Suspect.NumFrames = int32(suspects) - 20
		sig, title := triage.Mismatch(m)
		again, _ := triage.Mismatch(m)
		if !proto.Equal(sig, again) || signature.ID(sig) != signature.ID(again) {
			t.Fatalf("two signatures of one mismatch: %v and %v", sig, again)
		}
		for _, p := range append(sig.GetParts(), title) {
			if len(p) > 310 || strings.ContainsAny(p, "\n\r\x00") {
				t.Fatalf("part %q", p)
			}
		}
		if _, err := proto.Marshal(sig); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzCrash(f *testing.F) {
	f.Add("SIGSEGV (0xb)", "# V  [libjvm.so+0xed2f94]  Unsafe_PutLong+0x124", "JavaThread \"main\"")
	f.Add("Internal Error (a.cpp:1)", "J 33% c2 A.b()V", "")
	f.Add("SIGBUS (0x7)", "C  [libc.so.6+0x1]  "+strings.Repeat("_avx", 1000), "Thread")
	f.Add("SIGBUS (0x7)", "C  [lib"+strings.Repeat("1-a.", 1000)+".so+0x1]  f", "native thread")
	f.Add("SIGBUS (0x7)", "V  [libjvm.so+0x1]  "+strings.Repeat("operator<(", 400), "VMThread")
	f.Fuzz(func(t *testing.T, err, frame, thread string) {
		c := &misstepv1.Crash{
			Error: err, ProblematicFrame: frame, Thread: thread, NativeFrames: []string{frame, frame}, Detail: err,
		}
		sig, _ := triage.Crash(c)
		if len(sig.GetParts()) != 5 {
			t.Fatalf("parts %q", sig.GetParts())
		}
		if _, err := proto.Marshal(sig); err != nil {
			t.Fatal(err)
		}
		triage.Hangs(&misstepv1.Hang{
			Cause:   err,
			Threads: []*misstepv1.HungThread{{Name: thread, NativeFrames: []string{frame}, JavaFrames: []string{frame}}},
		})
	})
}

// Outcomes that prove nothing about a finding that they do not show; runner/jvm explains how each arises.
func TestVoid(t *testing.T) {
	nothing, one := []*misstepv1.CheckCount{{Check: "gst-asgct"}}, []*misstepv1.CheckCount{{Check: "gst-asgct", Total: 1}}
	const failure, crash = misstepv1.OutcomeKind_OUTCOME_KIND_APPLICATION_FAILURE, misstepv1.OutcomeKind_OUTCOME_KIND_CRASH
	for _, test := range []struct {
		kind   misstepv1.OutcomeKind
		checks []*misstepv1.CheckCount
		want   bool
	}{
		{misstepv1.OutcomeKind_OUTCOME_KIND_VOID, one, true},
		{failure, nil, true},
		{failure, nothing, true},
		{failure, one, false},
		{crash, nothing, true},
		{crash, one, false},
		{crash, nil, false},
		{misstepv1.OutcomeKind_OUTCOME_KIND_HANG, nothing, true},
		{misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES, one, false},
		{misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, one, false},
		{misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, nil, false},
	} {
		assert.Equal(t, test.want, triage.Void(&misstepv1.Outcome{Kind: test.kind, Checks: test.checks}), "%v %v", test.kind,
			test.checks)
	}
}

func TestIdle(t *testing.T) {
	for name, o := range map[string]*misstepv1.Outcome{
		"a check had nothing to compare": {Kind: misstepv1.OutcomeKind_OUTCOME_KIND_VOID},
		"!it did not end well":           {Kind: misstepv1.OutcomeKind_OUTCOME_KIND_VOID, ExitCode: 1},
		"!it was killed":                 {Kind: misstepv1.OutcomeKind_OUTCOME_KIND_VOID, Signal: 9},
		"!the scheduler was ejected": {
			Kind: misstepv1.OutcomeKind_OUTCOME_KIND_VOID, Perturbation: &misstepv1.PerturbationReport{Ejected: "watchdog"},
		},
		"!not void": {Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN},
	} {
		assert.Equal(t, name[0] != '!', triage.Idle(o), name)
	}
}
