package triage_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
	"misstep/triage"
)

func signed(kind string, parts ...string) *misstepv1.Finding {
	s := &misstepv1.Signature{Kind: kind, Parts: parts, Version: signature.Version}
	return &misstepv1.Finding{Id: signature.ID(s), Signature: s, Title: strings.Join(parts, ", ")}
}

// crashed is a finding of a crash: error, blamed frame, walker, thread, operation.
func crashed(err, frame, walker, thread, operation string) *misstepv1.Finding {
	return signed(signature.KindCrash, err, "frame: "+frame, "walker: "+walker, "thread: "+thread, "operation: "+operation)
}

func hung(cause string, waiters ...string) *misstepv1.Finding {
	return signed(signature.KindHang, append([]string{cause}, waiters...)...)
}

// unrelated crashes, each of another bug. What nearly every crash has in common is no likeness.
var unrelated = []*misstepv1.Finding{
	crashed("SIGSEGV", "V frame::safe_for_sender", "frame::safe_for_sender < AsyncGetCallTrace", "Java", "none"),
	crashed("SIGSEGV", "J c2 demo.Sorter.sort", "none", "Java", "none"),
	crashed("SIGSEGV", "V G1ParScanThreadState::trim_queue_to_threshold", "none", "GC", "G1CollectForAllocation"),
	crashed("SIGSEGV", "V G1FullGCMarker::follow_object", "none", "GC", "G1CollectForAllocation"),
	crashed("SIGSEGV", "V PhaseIdealLoop::split_up", "none", "compiler C2", "none"),
	crashed("SIGSEGV", "V LoadNode::Value", "none", "compiler C2", "none"),
	crashed("SIGBUS", "V Unsafe called by demo.Mapped.read", "none", "Java", "none"),
	crashed("SIGSEGV", "C memcpy called by C libzip.so newEntry2", "none", "Java", "none"),
	crashed("SIGSEGV", "C memcpy called by C libimage.so scale", "none", "Java", "none"),
	crashed("SIGSEGV", "C libnetty_tcnative.so SSL_read", "none", "Java", "none"),
	crashed("SIGSEGV", "C libc.so strlen", "none", "Java", "none"),
	crashed("SIGSEGV", "C libc.so memcpy", "none", "Java", "none"),
	crashed("SIGSEGV", "(unknown)", "none", "unknown", "none"),
	crashed("SIGILL", "v StubRoutines::jlong_disjoint_arraycopy", "none", "Java", "none"),
	crashed("Internal Error javaThread.cpp assert(is_lock_owned(adr)) failed", "V JavaThread::check", "none", "Java", "none"),
	crashed("Internal Error ciField.cpp Error: ShouldNotReachHere()", "V ciField::ciField", "none", "compiler C2", "none"),
	crashed("Internal Error mutex.cpp Error: ShouldNotReachHere()", "V Mutex::lock", "none", "VM thread", "none"),
	crashed("SIGSEGV", "V vframeStreamForte::forte_next",
		"vframeStreamForte::forte_next < forte_fill_call_trace_given_top < AsyncGetCallTrace", "Java", "none"),
	crashed("SIGSEGV", "V Method::is_valid_method", "Method::is_valid_method < forte_fill_call_trace_given_top < AsyncGetCallTrace",
		"Java", "none"),
	crashed("SIGSEGV", "V JfrStackTrace::record_safe", "JfrStackTrace::record_safe", "JFR sampler", "none"),
	crashed("SIGSEGV", "V Method::validate_bci_from_bcx", "Method::validate_bci_from_bcx < JfrThreadSampler", "JFR sampler", "none"),
	crashed("SIGSEGV", "V Symbol::as_C_string", "Symbol::as_C_string < JfrThreadSampler", "JFR sampler", "none"),
	crashed("EXCEPTION_ACCESS_VIOLATION", "V jvm.dll+0x2febe3 of OpenJDK 64-Bit Server VM 15.0.2+7-27 windows-amd64", "none", "Java", "none"),
	crashed("EXCEPTION_ACCESS_VIOLATION", "V jvm.dll+0x13d185 of OpenJDK 64-Bit Server VM 15.0.2+7-27 windows-amd64", "none", "Java", "none"),
}

func TestUnrelatedCrashesAreNoNeighbours(t *testing.T) {
	for _, f := range unrelated {
		for _, n := range triage.Nearest(f, unrelated, len(unrelated)) {
			t.Errorf("%s\nis offered for\n%s\nat %.2f: %s", n.GetTitle(), f.GetTitle(), n.GetScore(), n.GetReason())
		}
	}
}

func TestRelated(t *testing.T) {
	const chain = "CodeCache::find_blob < frame::sender < AsyncGetCallTrace"
	for i, test := range []struct {
		a, b   *misstepv1.Finding
		fits   bool
		reason string
	}{
		{ // another walker
			crashed("SIGSEGV", "V frame::sender", "frame::sender < AsyncGetCallTrace", "Java", "none"),
			crashed("SIGSEGV", "V frame::sender", "frame::sender < JfrStackTrace::record", "JFR sampler", "none"),
			true, "same error, frame; differs in walker in part, thread",
		},
		{ // a caller was inlined or the fault is one function further down
			crashed("SIGSEGV", "V CodeCache::find_blob", chain, "Java", "none"),
			crashed("SIGBUS", "V CodeHeap::find_start", "CodeHeap::find_start < "+chain, "Java", "none"),
			false, "same thread; differs in error, frame, walker in part",
		},
		{ // a signal in a product build, an assertion in a debug build, of the same function
			crashed("SIGSEGV", "V frame::sender", "none", "Java", "none"),
			crashed("Internal Error frame.cpp assert(_cb != nullptr) failed", "V frame::sender", "none", "Java", "none"),
			false, "same frame, thread; differs in error",
		},
		{ // an assertion that fails in two callers
			crashed("Internal Error frame.cpp assert(_cb != nullptr) failed", "V frame::sender", "none", "Java", "none"),
			crashed("Internal Error frame.cpp assert(_cb != nullptr) failed", "V frame::real_fp", "none", "GC", "none"),
			false, "same error; differs in frame, thread",
		},
		{ // other compilers of one method
			crashed("SIGSEGV", "J c1 demo.Sorter.sort", "none", "Java", "none"),
			crashed("SIGSEGV", "J c2 demo.Sorter.sort", "none", "Java", "none"),
			true, "same error, frame, thread",
		},
		{ // one library
			crashed("SIGBUS", "C libzip.so newEntry", "none", "Java", "none"),
			crashed("SIGBUS", "C libzip.so readCEN", "none", "Java", "none"),
			false, "same error, thread; differs in frame in part",
		},
		{ // unknown is no difference
			crashed("SIGSEGV", "V frame::sender", "unknown", "unknown", "unknown"),
			crashed("SIGSEGV", "V frame::sender", "frame::sender < AsyncGetCallTrace", "GC", "G1CollectForAllocation"),
			true, "same error, frame",
		},
		{ // one caller of what carried the crash out
			crashed("SIGSEGV", "C memcpy called by C libzip.so ZIP_GetEntry2", "none", "Java", "none"),
			crashed("SIGSEGV", "C strlen called by C libzip.so ZIP_GetEntry2", "none", "Java", "none"),
			true, "same error, thread; differs in frame in part",
		},
		{
			crashed("SIGSEGV", "V Unsafe called by demo.Peek.at", "none", "Java", "none"),
			crashed("SIGSEGV", "J c2 demo.Peek.at", "none", "Java", "none"),
			true, "same error, thread; differs in frame in part",
		},
		{
			hung("limit", "worker at demo.Pool.take", "writer at demo.Pipe.put"),
			hung("limit", "pool at demo.Pool.take"),
			false, "same cause; differs in places in part, threads",
		},
		{
			hung("in-walk", "worker in frame::sender < forte_fill_call_trace_given_top < AsyncGetCallTrace"),
			hung("in-walk", "main in frame::sender < AsyncGetCallTrace"),
			true, "same cause; differs in places in part, threads",
		},
		{
			hung("deadlock", "left at demo.Cross.left waits for java.lang.Object held by right",
				"right at demo.Cross.right waits for java.lang.Object held by left"),
			hung("limit", "left at demo.Cross.left"),
			false, "differs in cause, places in part, threads in part",
		},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			for _, pair := range [][2]*misstepv1.Finding{{test.a, test.b}, {test.b, test.a}} {
				got := triage.Nearest(pair[0], append([]*misstepv1.Finding{pair[1]}, unrelated...), 5)
				require.NotEmpty(t, got)
				assert.Equal(t, pair[1].GetId(), got[0].GetId())
				assert.Equal(t, test.reason, got[0].GetReason())
				assert.Equal(t, test.fits, got[0].GetScore() >= triage.Fits, "score %v", got[0].GetScore())
			}
		})
	}
}

func TestUnrelatedHangsAreNoNeighbours(t *testing.T) {
	all := []*misstepv1.Finding{
		hung("limit", "main at java.lang.Object.wait"),
		hung("limit", "main at java.util.concurrent.LinkedBlockingQueue.take", "worker at java.lang.Object.wait"),
		hung("limit", "main at demo.A.f"),
		hung("limit", "main at demo.B.g", "worker at java.util.concurrent.LinkedBlockingQueue.take"),
		hung("limit"),
		hung("in-walk", "main in frame::sender < AsyncGetCallTrace"),
		hung("in-walk", "main in CodeCache::find_blob < AsyncGetCallTrace"),
		hung("deadlock", "left at demo.Cross.left waits for java.lang.Object held by right"),
		hung("deadlock", "left at demo.Other.left waits for java.lang.Object held by right"),
	}
	for _, f := range all {
		assert.Empty(t, triage.Nearest(f, all, len(all)), f.GetTitle())
	}
}

func TestNearest(t *testing.T) {
	f := crashed("SIGSEGV", "V frame::sender", "frame::sender < AsyncGetCallTrace", "Java", "none")
	near := crashed("SIGSEGV", "V frame::sender", "frame::sender < JfrStackTrace::record", "JFR sampler", "none")
	nearer := crashed("SIGSEGV", "V frame::sender", "frame::sender < AsyncGetCallTrace", "GC", "none")
	hang := hung("in-walk", "worker in frame::sender < AsyncGetCallTrace")
	others := append([]*misstepv1.Finding{f, near, nearer, hang}, unrelated[1:]...)
	got := triage.Nearest(f, others, 5)
	require.Len(t, got, 2, "itself, other kinds and those with nothing characteristic in common are left out")
	assert.Equal(t, nearer.GetId(), got[0].GetId())
	assert.Equal(t, near.GetId(), got[1].GetId())
	assert.Equal(t, near.GetTitle(), got[1].GetTitle())
	assert.Greater(t, got[0].GetScore(), got[1].GetScore())
	assert.Less(t, got[0].GetScore(), 1.0)
	assert.Len(t, triage.Nearest(f, others, 1), 1)
	assert.Empty(t, triage.Nearest(f, others, 0))
}
