package triage_test

import (
	"cmp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/hserr"
	"misstep/signature"
	"misstep/triage"
)

// report writes an error file as HotSpot does. Frames are separated by "; ", the native ones from the Java ones by " | ".
type report struct {
	err, message, frame, thread, frames, vm, after string
}

func (r report) text() string {
	native, java, hasJava := strings.Cut(r.frames, " | ")
	var b strings.Builder
	b.WriteString("#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n")
	b.WriteString("#  " + cmp.Or(r.err, "SIGSEGV (0xb) at pc=0x00007f171904b992, pid=1, tid=50") + "\n")
	if r.message != "" {
		b.WriteString("#  " + r.message + "\n")
	}
	b.WriteString("#\n# JRE version: OpenJDK Runtime Environment (17.0.15+6) (build 17.0.15+6)\n# Java VM: " +
		cmp.Or(r.vm, "OpenJDK 64-Bit Server VM (17.0.15+6, mixed mode, g1 gc, linux-amd64)") + "\n")
	if frame := cmp.Or(r.frame, strings.Split(native, "; ")[0]); frame != "" && frame != "-" {
		b.WriteString("# Problematic frame:\n# " + frame + "\n#\n")
	}
	b.WriteString("\n---------------  T H R E A D  ---------------\n\nCurrent thread (0x00007f1755ab1900):  " +
		cmp.Or(r.thread, `JavaThread "main" [_thread_in_vm, id=50, stack(0x1,0x2)]`) + "\n\n")
	b.WriteString("Native frames: (J=compiled Java code, j=interpreted, Vv=VM code, C=native code)\n")
	b.WriteString(strings.ReplaceAll(native, "; ", "\n") + "\n\n")
	if hasJava {
		b.WriteString("Java frames: (J=compiled Java code, j=interpreted, Vv=VM code)\n")
		b.WriteString(strings.ReplaceAll(java, "; ", "\n") + "\n\n")
	}
	b.WriteString(cmp.Or(r.after, "---------------  P R O C E S S  ---------------") + "\n\nEND.\n")
	return b.String()
}

func signOf(t *testing.T, text string) signature.Crash {
	t.Helper()
	parsed, err := hserr.Parse(strings.NewReader(text))
	require.NoError(t, err)
	stored, _ := triage.Crash(parsed.Crash)
	s, err := signature.Read(stored)
	require.NoError(t, err)
	return s.(signature.Crash)
}

const (
	safe = "V  [libjvm.so+0x5c52c4]  frame::safe_for_sender(JavaThread*)+0x274"
	fill = "V  [libjvm.so+0x5bfe94]  forte_fill_call_trace_given_top(JavaThread*, ASGCT_CallTrace*, int, frame)+0x2d0"
	asgc = "V  [libjvm.so+0x5c036c]  AsyncGetCallTrace+0x1ec"
)

// What a run or a build changes by itself makes no difference.
func TestOneCrashHasOneID(t *testing.T) {
	for name, reports := range map[string][]report{
		"library in a random name": {
			{frames: "C  [libdemo1601817130.so+0x7992]  Buffer::put(unsigned long long)+0x102"},
			{frames: "C  [libdemo829863268440512.so+0x7992]  Buffer::put(unsigned long long)+0x102"},
			{frames: "C  [libdemo-6c0a3b52-2f0e-4d0a-8a39-0d6a6d4b9c1e.so+0x79a2]  Buffer::put(unsigned long)+0x112"},
		},
		"name of an application's thread": {
			{frames: safe, thread: `JavaThread "worker" daemon [_thread_in_Java, id=2, stack(0x1,0x2)]`},
			{frames: safe, thread: `JavaThread "FileWatcherThread" [_thread_in_native, id=2, stack(0x1,0x2)]`},
			{frames: safe, thread: `JavaThread "WorkerThread-3" daemon [_thread_in_Java, id=2, stack(0x1,0x2)]`},
			{frames: safe, thread: `JavaThread "G1 loader" daemon [_thread_in_vm, id=2, stack(0x1,0x2)]`},
			{frames: safe, thread: `JavaThread "VMThread" [_thread_in_vm, id=2, stack(0x1,0x2)]`},
			{frames: safe, thread: `JavaThread "ConcurrentGCThread ZWorker GC Thread#0" [_thread_in_vm, id=2, stack(0x1,0x2)]`},
			{frames: safe, thread: `JavaThread "JFR Sampler" [_thread_in_vm, id=2, stack(0x1,0x2)]`},
			{frames: safe, thread: `JavaThread "my CompilerThread" daemon [_thread_in_vm, id=2, stack(0x1,0x2)]`},
			{frames: safe, thread: `JavaThread "C2 CompilerThread0" daemon [_thread_in_Java, id=2, stack(0x1,0x2)]`},
		},
		"sampler of JFR on 8 to 20, 21 and 25": {
			{frames: safe, thread: "Thread [stack: 0x00007fb15a8e3000,0x00007fb15a9e3000] [id=11950] _threads_hazard_ptr=0x1"},
			{frames: safe, thread: `JfrThreadSampler "JFR Thread Sampler" [id=12077, stack(0x1,0x2) (1024K)]`},
			{frames: safe, thread: `JfrSamplerThread "JFR Sampler Thread" [id=12077, stack(0x1,0x2) (1024K)]`},
		},
		"worker of the garbage collector": {
			{frames: safe, thread: "GCTaskThread [stack: 0x1,0x2] [id=7]"},
			{frames: safe, thread: `GCTaskThread "ParGC Thread#0" [stack: 0x1,0x2] [id=7]`},
			{frames: safe, thread: `WorkerThread "GC Thread#3" [id=7, stack(0x1,0x2)]`},
			{frames: safe, thread: `ConcurrentGCThread "G1 Service" [id=7, stack(0x1,0x2)]`},
		},
		"values in a message": {
			{err: "Internal Error (/a/javaThread.cpp:1291), pid=1, tid=2", message: "assert(n == 0) failed: calls=0", frames: safe},
			{err: "Internal Error (/b/javaThread.cpp:1293), pid=7, tid=9", message: "assert(n == 0) failed: calls=1", frames: safe},
		},
		"older texts of a guarantee": {
			{
				err: "Internal Error (codeCache.cpp:281), pid=1, tid=2", frames: safe, message: "guarantee(result == NULL || " +
					"!result->is_zombie() || result->is_locked_by_vm() || is_error_reported()) failed: unsafe access to zombie method",
			},
			{
				err: "Internal Error (codeCache.cpp:631), pid=1, tid=2", frames: safe, message: "guarantee(result == NULL || " +
					"!result->is_zombie() || result->is_locked_by_vm() || VMError::is_error_reported()) failed: " +
					"unsafe access to zombie method",
			},
			{
				err: "Internal Error (codeCache.cpp:653), pid=1, tid=2", frames: safe,
				message: "guarantee(is_result_safe || is_in_asgct()) failed: unsafe access to zombie method",
			},
		},
		"variants of a C function": {
			{frames: "C  [libc.so.6+0x14d667]  __memcpy_ssse3+0xb57; C  [libzip.so+0x6034]  ZIP_GetEntry2+0xf4"},
			{frames: "C  [libc-2.31.so+0x18e4f2]  __memcpy_avx_unaligned_erms+0x12; C  [libzip.so+0x6034]  ZIP_GetEntry2+0xf4"},
			{frames: "C  [libc.so.6+0x18e4f2]  __memmove_evex_unaligned_erms+0x12; C  [libzip.so+0x7034]  ZIP_GetEntry2+0xf1"},
			{frames: "C  [ld-musl-x86_64.so.1+0x5b1f2]  memcpy+0x12; C  [libzip.so+0x6034]  ZIP_GetEntry2+0xf4"},
			{frames: "C  [libsystem_platform.dylib+0x11]  _platform_memmove$VARIANT$Haswell+0x29; C  [libzip.so+0x1]  ZIP_GetEntry2+0xf"},
		},
		"template arguments and return types": {
			{frames: "V  [libjvm.so+0x1]  void Closure::do_work<unsigned int>(unsigned int*)+0x1"},
			{frames: "V  [libjvm.so+0x2]  Closure::do_work+0x1"},
		},
		"what is inlined in a walk": {
			{frames: safe + "; V  [libjvm.so+0x5bf558]  vframeStreamForte::forte_next()+0x68; " + fill + "; " + asgc},
			{frames: safe + "; V  [libjvm.so+0x5bf558]  frame::sender(RegisterMap*) const+0x68; " + fill + "; " + asgc},
			{frames: safe + "; " + fill + "; " + asgc},
		},
		"Unsafe in the VM, compiled, in a stub": {
			{frames: "V  [libjvm.so+0xe016b8]  Unsafe_GetLong+0x68; j  jdk.internal.misc.Unsafe.getLong(J)J+3 | " +
				"j  jdk.internal.misc.Unsafe.getLong(J)J+3; j  sun.misc.Unsafe.getLong(J)J+4; j  a.Demo.read()J+24"},
			{frames: "J 728 c1 jdk.internal.misc.Unsafe.getLongUnaligned(Ljava/lang/Object;J)J java.base@25.0.2 (9 bytes) @ 0x1 [0x1+0x2]; " +
				"j  jdk.internal.misc.ScopedMemoryAccess.getLongUnaligned(Ljava/lang/Object;JZ)J+6; " +
				"j  java.lang.invoke.VarHandleGuards.guard_LJ_J(J)J+49; " +
				"j  jdk.internal.foreign.AbstractMemorySegmentImpl.get(J)J+8; j  a.Demo.read()J+16"},
			{frames: "V  [libjvm.so+0xe016b8] | J 12  sun.misc.Unsafe.getLong(J)J (0 bytes) @ 0x1 [0x1+0x2]; j  a.Demo.read()J+24"},
			{frames: "V  [libjvm.so+0x9]  Copy::conjoint_memory_atomic(void*, void*, unsigned long)+0x1; " +
				"V  [libjvm.so+0xe016b8]  Unsafe_CopyMemory0+0x68 | j  jdk.internal.misc.Unsafe.copyMemory0(J)V+0; j  a.Demo.read()J+4"},
			{frames: "C  [libc.so.6+0x9]  __memset_avx2_erms+0x1; V  [libjvm.so+0xe016b8]  Unsafe_SetMemory0+0x68 | " +
				"j  jdk.internal.misc.Unsafe.setMemory0(J)V+0; j  a.Demo.read()J+4"},
			{frames: "v  ~StubRoutines::unsafe_arraycopy 0x00007f559c400fa6 | j  sun.misc.Unsafe.copyMemory(J)V+0; j  a.Demo.read()J+4"},
			{frames: "J 99 c2 java.nio.DirectByteBuffer.getLong(I)J (9 bytes) @ 0x1 [0x1+0x2]; j  a.Demo.read()J+4"},
		},
		"a VM without symbols, loaded elsewhere": {
			{frames: "V  [jvm.dll+0x13d185]", thread: `JavaThread "a" [_thread_in_vm, id=1, stack(0x1,0x2)]`},
			{frames: "V  [jvm.dll+0x13d185]", thread: `JavaThread "b" [_thread_in_vm, id=2, stack(0x3,0x4)]`},
		},
		"the VM's reporting": {
			{
				err: "Internal Error (ciEnv.hpp:172), pid=6570, tid=0x00007fe3d7dfd700", message: "Error: ShouldNotReachHere()", frame: "-",
				frames: "V  [libjvm.so+0xb5718d]  VMError::report_and_die()+0x15d; V  [libjvm.so+0x50688d]  " +
					"report_should_not_reach_here(char const*, int)+0x5d; V  [libjvm.so+0x42ef26]  ciField::ciField(int)+0x956",
			},
			{
				err: "Internal Error (ciEnv.hpp:172), pid=6570, tid=2", message: "Error: ShouldNotReachHere()",
				frames: "V  [libjvm.so+0x42ef26]  ciField::ciField(int)+0x956",
			},
		},
	} {
		first := signOf(t, reports[0].text())
		for _, r := range reports[1:] {
			assert.Equal(t, first, signOf(t, r.text()), "%s: %v", name, r)
		}
	}
}

// Unlike bugs have ids of their own.
func TestOtherCrashesHaveOtherIDs(t *testing.T) {
	for name, reports := range map[string][]report{
		"a wrong program counter": {
			{frames: "C  0x0000000000003b36 | j  a.Native.toCell(DDI)J+0"},
			{frames: "C  0x0000000000003b36 | j  a.Native.toPoint(J)D+0"},
			{frames: "C  0x0000000000020820; C  [libdemo.so+0x1]  init+0x1"},
			{frames: "C  0x0000000000020820; V  [libjvm.so+0x1]  os::dll_load(char const*)+0x70"},
			{frames: "C  0x0000000000003b36; C  [ld-musl-aarch64.so.1+0x637dc]; C  [ld-musl-aarch64.so.1+0x65c64]  dlopen+0x738; " +
				"V  [libjvm.so+0xacc1d4]  os::dll_load(char const*)+0x70"},
		},
		"a VM without symbols": {
			{frames: "V  [jvm.dll+0x13d185]"},
			{frames: "V  [jvm.dll+0x13d186]"},
			{frames: "V  [jvm.dll+0x13d185]", vm: "Java HotSpot(TM) 64-Bit Server VM (25.73-b02 mixed mode windows-amd64 compressed oops)"},
			{frames: "V  [libjvm.dylib+0x13d185]", vm: "OpenJDK 64-Bit Server VM (17.0.15+6, mixed mode, g1 gc, bsd-aarch64)"},
		},
		"who called the C library": {
			{frames: "C  [libc.so.6+0x14d667]  __memcpy_ssse3+0xb57; C  [libzip.so+0x6034]  ZIP_GetEntry2+0xf4"},
			{frames: "C  [libc.so.6+0x14d667]  __memcpy_ssse3+0xb57; C  [libdemo.so+0x6034]  pack+0xf4"},
			{frames: "C  [libc.so.6+0x14d667]  __strlen_avx2+0xb57; C  [libdemo.so+0x6034]  pack+0xf4"},
			{frames: "C  [libc.so.6+0x14d667]  __strlen_avx2+0xb57 | j  a.Native.pack()V+0"},
			{frames: "C  [ucrtbase.dll+0x1]; C  [demo.dll+0x6034]"},
			{frames: "C  [ucrtbase.dll+0x1]; C  [other.dll+0x6034]"},
		},
		"who called Unsafe": {
			{frames: "V  [libjvm.so+0x1]  Unsafe_GetLong+0x68 | j  sun.misc.Unsafe.getLong(J)J+4; j  a.Demo.read()J+24"},
			{frames: "V  [libjvm.so+0x1]  Unsafe_GetLong+0x68 | j  sun.misc.Unsafe.getLong(J)J+4; j  a.Demo.write()J+24"},
			{frames: "J 5 c2 a.Demo.read()J (9 bytes) @ 0x1 [0x1+0x2]"},
		},
		"assertions": {
			{err: "Internal Error (a.cpp:1), pid=1, tid=2", message: "assert(n == 0) failed: calls=0", frames: safe},
			{err: "Internal Error (a.cpp:1), pid=1, tid=2", message: "assert(n == 1) failed: calls=0", frames: safe},
			{err: "Internal Error (a.cpp:1), pid=1, tid=2", message: "assert(n == 0) failed: depth=0", frames: safe},
			{err: "Internal Error (b.cpp:1), pid=1, tid=2", message: "assert(n == 0) failed: calls=0", frames: safe},
		},
		"exceptions of Windows": {
			{err: "Internal Error (0xe06d7363), pid=1, tid=2", frames: "C  [KERNELBASE.dll+0x3a799]; C  [demo.dll+0x1]"},
			{err: "Internal Error (0xc0000409), pid=1, tid=2", frames: "C  [KERNELBASE.dll+0x3a799]; C  [demo.dll+0x1]"},
		},
		"walkers": {
			{frames: safe},
			{frames: safe + "; " + asgc},
			{frames: safe + "; " + fill + "; " + asgc},
			{frames: safe + "; V  [libjvm.so+0x3]  GetStackTraceClosure::do_thread(Thread*)+0x30"},
			{frames: safe + "; V  [libjvm.so+0x3]  GetSingleStackTraceClosure::do_thread(Thread*)+0x30"},
			{frames: safe + "; V  [libjvm.so+0x3]  VM_GetStackTrace::doit()+0x30"},
			{frames: safe + "; V  [libjvm.so+0x3]  VM_ThreadDump::doit()+0x30"},
			{frames: safe + "; V  [libjvm.so+0x3]  JvmtiEnv::GetStackTrace(JavaThread*, int)+0x30"},
			{frames: safe + "; V  [libjvm.so+0x3]  JfrThreadSampleClosure::do_sample_thread(JavaThread*)+0x30"},
			{frames: safe + "; V  [libjvm.so+0x3]  JfrThreadSampling::process_sample_request(JavaThread*)+0x30"},
			{frames: safe + "; C  [libasyncProfiler.so+0x3]  StackWalker::walkVM(void*, ASGCT_CallFrame*, int)+0x30"},
		},
		"threads": {
			{frames: safe},
			{frames: safe, thread: `VMThread "VM Thread" [id=2, stack(0x1,0x2)]`},
			{frames: safe, thread: `WorkerThread "GC Thread#0" [id=2, stack(0x1,0x2)]`},
			{frames: safe, thread: `WatcherThread "VM Periodic Task Thread" [id=2, stack(0x1,0x2)]`},
			{frames: safe, thread: `JavaThread "C2 CompilerThread0" daemon [_thread_in_native, id=2, stack(0x1,0x2)]`},
			{frames: safe, thread: `JavaThread "C1 CompilerThread0" daemon [_thread_in_native, id=2, stack(0x1,0x2)]`},
			{frames: safe, thread: `AsyncLogWriter "AsyncLog Thread" [id=2, stack(0x1,0x2)]`},
			{frames: safe, thread: `JfrCPUSamplerThread "JFR CPU Sampler Thread" [id=2, stack(0x1,0x2)]`},
		},
	} {
		seen := map[string]report{}
		for _, r := range reports {
			text := signature.Text(signOf(t, r.text()))
			other, dup := seen[text]
			assert.False(t, dup, "%s: %v and %v are one:\n%s", name, r, other, text)
			seen[text] = r
		}
	}
}

// The VM thread executes an operation, or none; a report that ends before that does not tell.
func TestCutReport(t *testing.T) {
	const thread = `VMThread "VM Thread" [id=2, stack(0x1,0x2)]`
	whole := signOf(t, report{
		frames: safe, thread: thread, after: "VM_Operation (0x00007fffaa62ab20): PrintThreads, mode: safepoint, requested by thread 0x1",
	}.text())
	none := signOf(t, report{frames: safe, thread: thread}.text())
	cut := signOf(t, report{frames: safe, thread: thread, after: "siginfo: si_signo: 11 (SIGSEGV)"}.text())
	assert.Equal(t, []string{"PrintThreads", "none", "unknown"}, []string{whole.Operation, none.Operation, cut.Operation})
	assert.True(t, whole.Completes(cut))
	assert.True(t, none.Completes(cut))
	assert.False(t, whole.Completes(none))
	java := signOf(t, report{frames: safe, after: "siginfo: si_signo: 11 (SIGSEGV)"}.text())
	assert.Equal(t, "none", java.Operation, "only the VM thread executes any")
}
