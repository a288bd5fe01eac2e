package signature

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Lines of real error files of 8, 17 and 25.
func TestParseFrame(t *testing.T) {
	const descriptor = "(Ljava/lang/Object;JJ)V"
	for line, want := range map[string]struct {
		frame            Frame
		text, normalised string
	}{
		"# V  [libjvm.so+0xed2f94]  Unsafe_PutLong+0x124": {
			Frame{Kind: VMFrame, Library: "libjvm.so", Offset: "0xed2f94", Function: "Unsafe_PutLong"},
			"V  [libjvm.so+0xed2f94]  Unsafe_PutLong", "V Unsafe_PutLong",
		},
		"V  [libjvm.so+0x7f2222]  frame::sender(RegisterMap*) const+0x1c": {
			Frame{Kind: VMFrame, Library: "libjvm.so", Offset: "0x7f2222", Function: "frame::sender(RegisterMap*) const"},
			"V  [libjvm.so+0x7f2222]  frame::sender(RegisterMap*) const", "V frame::sender",
		},
		"V  [libjvm.so+0xaedd96]  jni_invoke_static(JNIEnv_*) [clone .constprop.1]+0x396": {
			Frame{
				Kind: VMFrame, Library: "libjvm.so", Offset: "0xaedd96",
				Function: "jni_invoke_static(JNIEnv_*) [clone .constprop.1]",
			},
			"V  [libjvm.so+0xaedd96]  jni_invoke_static(JNIEnv_*) [clone .constprop.1]", "V jni_invoke_static",
		},
		"V  [libjvm.so]": {Frame{Kind: VMFrame, Library: "libjvm.so"}, "V  [libjvm.so]", "V libjvm.so"},
		"C  [libc.so.6+0x85f14]": {
			Frame{Kind: CFrame, Library: "libc.so.6", Offset: "0x85f14"}, "C  [libc.so.6+0x85f14]", "C libc.so",
		},
		"C  [unknown]  __pthread_kill_implementation": {
			Frame{Kind: CFrame, Function: "__pthread_kill_implementation"},
			"C  [unknown]  __pthread_kill_implementation", "C unknown __pthread_kill_implementation",
		},
		"j  jdk.internal.misc.Unsafe.putLong(Ljava/lang/Object;JJ)V+0 java.base@17.0.15": {
			Frame{Kind: JavaFrame, Class: "jdk.internal.misc.Unsafe", Method: "putLong", Descriptor: descriptor, Tier: Interpreted},
			"j  jdk.internal.misc.Unsafe.putLong" + descriptor, "J interpreted jdk.internal.misc.Unsafe.putLong",
		},
		"J 1432% C1 Crash.down(ILsun/misc/Unsafe;)V (19 bytes) @ 0x00007f32dd11162c [0x00007f32dd1115a0+0x8c]": {
			Frame{Kind: JavaFrame, Class: "Crash", Method: "down", Descriptor: "(ILsun/misc/Unsafe;)V", Tier: "c1"},
			"J c1 Crash.down(ILsun/misc/Unsafe;)V", "J c1 Crash.down",
		},
		"J 12  sun.misc.Unsafe.putAddress(JJ)V (0 bytes) @ 0x00007f0011223344": {
			Frame{Kind: JavaFrame, Class: "sun.misc.Unsafe", Method: "putAddress", Descriptor: "(JJ)V", Tier: Compiled},
			"J  sun.misc.Unsafe.putAddress(JJ)V", "J compiled sun.misc.Unsafe.putAddress",
		},
		"j  java.lang.invoke.LambdaForm$MH+0x0000000045044400.invoke(Ljava/lang/Object;)Ljava/lang/Object;+67 java.base@25.0.3": {
			Frame{
				Kind: JavaFrame, Class: "java.lang.invoke.LambdaForm$MH+0x0000000045044400", Method: "invoke",
				Descriptor: "(Ljava/lang/Object;)Ljava/lang/Object;", Tier: Interpreted,
			},
			"j  java.lang.invoke.LambdaForm$MH+0x0000000045044400.invoke(Ljava/lang/Object;)Ljava/lang/Object;",
			"J interpreted java.lang.invoke.LambdaForm$MH.invoke",
		},
		"v  ~StubRoutines::call_stub 0x00007f559c400fa6": {
			Frame{Kind: StubFrame, Function: "~StubRoutines::call_stub"},
			"v  ~StubRoutines::call_stub", "v StubRoutines::call_stub",
		},
		"C  0x00007f559c400fa6": {Frame{Function: "C  0x00007f559c400fa6"}, "C  0x00007f559c400fa6", "C ADDR"},
		"":                      {Frame{}, "", "(unknown)"},
	} {
		f := ParseFrame(line)
		assert.Equal(t, want.frame, f, line)
		assert.Equal(t, want.text, f.String(), line)
		assert.Equal(t, want.normalised, f.Normalised(), line)
		assert.Equal(t, f, ParseFrame(f.String()), line)
	}
}

func TestParseGDBFrame(t *testing.T) {
	for line, want := range map[string]struct{ gdb, text, name string }{
		"#2  0x00007f14 in CodeHeap::find_start(void*) const () from /jdk/lib/server/libjvm.so": {
			"CodeHeap::find_start(void*) const from libjvm.so", "V  [libjvm.so]  CodeHeap::find_start(void*) const",
			"CodeHeap::find_start",
		},
		"#0  os::PlatformMonitor::wait (this=0x7f) at os_posix.cpp:12": {
			"os::PlatformMonitor::wait", "C  [unknown]  os::PlatformMonitor::wait", "os::PlatformMonitor::wait",
		},
		"copy_loop from libdemo.so": {
			"copy_loop from libdemo.so", "C  [libdemo.so]  copy_loop", "copy_loop",
		},
		"#1  0x00007f02 in ?? () from /jdk/lib/server/libjvm.so": {"?? from libjvm.so", "V  [libjvm.so]", ""},
		"#3  0x00007f04 in ?? ()":                                {"??", "C  [unknown]", ""},
		"#1  <signal handler called>": {
			"<signal handler called>", "C  [unknown]  <signal handler called>", "<signal handler called>",
		},
		"(anonymous namespace)::f (x)": {"(anonymous namespace)::f", "C  [unknown]  (anonymous namespace)::f", "f"},
	} {
		f := ParseGDBFrame(line)
		assert.Equal(t, want.gdb, f.GDB(), line)
		assert.Equal(t, want.text, f.String(), line)
		assert.Equal(t, want.name, f.FunctionName(), line)
		assert.Equal(t, f, ParseGDBFrame(f.GDB()), line)
		assert.Equal(t, f, ParseFrame(f.String()), "%s: an error file's form is read back as the same frame", line)
	}
}

func TestParseJavaFrame(t *testing.T) {
	for line, want := range map[string]string{
		"at java.base@17/java.lang.Object.wait(Native Method)": "java.lang.Object.wait",
		"a.Bank$1.lambda$main$3(Bank.java:12)":                 "a.Bank$#.lambda$main$#",
	} {
		f, ok := ParseJavaFrame(line)
		require.True(t, ok, line)
		assert.Equal(t, want, f.MethodName(), line)
	}
	_, ok := ParseJavaFrame("- locked <0x1> (a java.lang.Object)")
	assert.False(t, ok)
}

func TestAssertionFile(t *testing.T) {
	assert.Equal(t, "codeCache.cpp", AssertionFile("Internal Error (/build/share/code/codeCache.cpp:653), guarantee(x) failed"))
	assert.Equal(t, "frame.hpp", AssertionFile("(frame.hpp:1)"))
	assert.Empty(t, AssertionFile("SIGSEGV (0xb)"))
}
