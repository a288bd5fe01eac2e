// abi.h is the one definition of the layouts that the native agent, the Java half and the Go reader share.
//
// Only plain `#define NAME NUMBER` lines carry facts: agent/abi_test.go reads them and fails when abi.go drifts, and
// native/src/status.cpp asserts the C++ structures against them. All numbers are bytes unless said otherwise; all
// values are little-endian; 64-bit values are naturally aligned and written atomically.
#ifndef MISSTEP_ABI_H
#define MISSTEP_ABI_H

// Version of all of this. A reader refuses another one.
#define MISSTEP_ABI_VERSION 2

// Shadow buffer: one per java.lang.Thread, off-heap. Its address stands in Thread.misstepShadow: 0 = not asked for yet,
// -1 = none. The header is followed by entries: low 32 bits method id (from 1), high 32 bits 0.

// u64: address of the next free entry. It may run past the limit (nothing is stored there): the guard on depth.
#define MISSTEP_SHADOW_TOP 0
// u64: address of the end of the entries.
#define MISSTEP_SHADOW_LIMIT 8
// i64: method entries until something is to be looked at; check() is called when it falls below 0. Never more than the
// limit leaves room for: an entry that does not call check() is stored without a look at the limit.
#define MISSTEP_SHADOW_COUNTDOWN 16
// The native side's own: i64 the countdown as last set, i64 method entries until the next
// entry check, i64 until the next point of the perturbation.
#define MISSTEP_SHADOW_SET 24
#define MISSTEP_SHADOW_CHECK 32
#define MISSTEP_SHADOW_POINT 40
// u64 address of the buffer itself
#define MISSTEP_SHADOW_SELF 48
// A platform thread's: the virtual thread that VirtualThread.mount has put onto it, until VirtualThread.unmount. i64
// address of its buffer, or NONE, UNCALLED (it has called nothing yet, and has no buffer), UNKNOWN (it gets none). u64
// top of the carrier's own buffer at the mount: entries from there on are of code that runs as the carrier meanwhile
// (VirtualThread.switchToCarrierThread).
#define MISSTEP_SHADOW_MOUNTED 56
#define MISSTEP_SHADOW_MARK 64
#define MISSTEP_SHADOW_NONE 0
#define MISSTEP_SHADOW_UNCALLED 1
#define MISSTEP_SHADOW_UNKNOWN -1
#define MISSTEP_SHADOW_HEADER 128
#define MISSTEP_SHADOW_ENTRY 8

// status.bin, the flight record: a mapped file that outlives the process. Header, then checks, then thread slots;
// offsets from the file's start.

// u64 magic: "MISSTEP1" read as a little-endian number.
#define MISSTEP_STATUS_MAGIC 0x315045545353494d
#define MISSTEP_STATUS_MAGIC_OFFSET 0
// u32 version, u32 file size, u32 process id, u32 flags
#define MISSTEP_STATUS_VERSION_OFFSET 8
#define MISSTEP_STATUS_SIZE_OFFSET 12
#define MISSTEP_STATUS_PID_OFFSET 16
#define MISSTEP_STATUS_FLAGS_OFFSET 20
// flags: the transformer is installed and checks run; the VM died in order and everything was drained.
#define MISSTEP_STATUS_FLAG_STARTED 1
#define MISSTEP_STATUS_FLAG_ENDED 2
// u64 counters
#define MISSTEP_STATUS_SENT_OFFSET 32
#define MISSTEP_STATUS_DELIVERED_OFFSET 40
#define MISSTEP_STATUS_ANSWERED_OFFSET 48
#define MISSTEP_STATUS_INSTRUMENTED_OFFSET 56
// u64 classes that could not be instrumented
#define MISSTEP_STATUS_FAILED_OFFSET 64
// u64 signals that arrived without a sample to fill
#define MISSTEP_STATUS_STRAY_OFFSET 72
// u64 CLOCK_MONOTONIC nanoseconds of the sampler's last round
#define MISSTEP_STATUS_HEARTBEAT_OFFSET 80
// u64 second signals of brackets (asgct-gst-bracket)
#define MISSTEP_STATUS_SECOND_OFFSET 88
// u64 samples of asgct-shadow that were also judged against the trace stack
#define MISSTEP_STATUS_TRACED_OFFSET 96
// u64 walks from callers that were guessed
#define MISSTEP_STATUS_GUESSED_OFFSET 104
// u64 samples of asgct-shadow while a virtual thread was mounted, those of them that were not void, and those whose
// walk was cut off
#define MISSTEP_STATUS_VIRTUAL_OFFSET 112
#define MISSTEP_STATUS_VIRTUAL_JUDGED_OFFSET 120
#define MISSTEP_STATUS_VIRTUAL_CUT_OFFSET 128
#define MISSTEP_STATUS_HEADER 256

// One check, of MISSTEP_CHECK_COUNT (native/src/checks.gen.h): name, counters, then named counters (an empty name ends
// a list).
#define MISSTEP_CHECK_NAME 32
#define MISSTEP_CHECK_TOTAL_OFFSET 32
#define MISSTEP_CHECK_MATCH_OFFSET 40
#define MISSTEP_CHECK_MISMATCH_OFFSET 48
// u64 per ASGCT code 0, -1, ... -15
#define MISSTEP_CHECK_UNWALKABLE_OFFSET 56
#define MISSTEP_CHECK_UNWALKABLE_COUNT 16
// name (32) and u64 count
#define MISSTEP_CHECK_TOLERATED_OFFSET 184
#define MISSTEP_CHECK_TOLERATED_COUNT 32
#define MISSTEP_CHECK_VOID_OFFSET 1464
#define MISSTEP_CHECK_VOID_COUNT 32
#define MISSTEP_CHECK_NAMED_SIZE 40
#define MISSTEP_CHECK_SIZE 2752

// One thread slot: u32 tid (0 = free), u32 phase, u64 enter (CLOCK_MONOTONIC nanoseconds), u64 sequence, u64 pc,
// u64 sp.
#define MISSTEP_THREAD_COUNT 2048
#define MISSTEP_THREAD_TID_OFFSET 0
#define MISSTEP_THREAD_PHASE_OFFSET 4
#define MISSTEP_THREAD_ENTER_OFFSET 8
#define MISSTEP_THREAD_SEQUENCE_OFFSET 16
#define MISSTEP_THREAD_PC_OFFSET 24
#define MISSTEP_THREAD_SP_OFFSET 32
#define MISSTEP_THREAD_SIZE 64
// Phases: outside of the agent; in the signal handler; in ASGCT called by the handler; in a check at a method entry; in
// GetStackTrace or ASGCT called by that check; in ASGCT called by the handler with made-up registers.
#define MISSTEP_PHASE_NONE 0
#define MISSTEP_PHASE_HANDLER 1
#define MISSTEP_PHASE_WALK 2
#define MISSTEP_PHASE_CHECK 3
#define MISSTEP_PHASE_OWN_WALK 4
#define MISSTEP_PHASE_GUESS 5

// schedule.bin: what a perturbation at instrumentation points did. A header, then records of schedule/intf.h (struct
// misstep_record), those from capacity on left out. All counters are u64.

// u64 magic: "MISSCHE2" read as a little-endian number.
#define MISSTEP_SCHEDULE_MAGIC 0x324548435353494d
#define MISSTEP_SCHEDULE_MAGIC_OFFSET 0
#define MISSTEP_SCHEDULE_CAPACITY_OFFSET 8
// records that were to be written
#define MISSTEP_SCHEDULE_COUNT_OFFSET 16
// counters by enum misstep_stat, then histograms by enum misstep_histogram, 40 buckets each
#define MISSTEP_SCHEDULE_STATS_OFFSET 64
#define MISSTEP_SCHEDULE_STATS_COUNT 17
#define MISSTEP_SCHEDULE_HISTOGRAMS_OFFSET 200
#define MISSTEP_SCHEDULE_HISTOGRAMS_COUNT 3
#define MISSTEP_SCHEDULE_BUCKETS_COUNT 40
#define MISSTEP_SCHEDULE_RECORDS_OFFSET 4096
#define MISSTEP_SCHEDULE_RECORD_SIZE 80
#define MISSTEP_SCHEDULE_CAPACITY 262144

// tap.bin: the calls of other samplers' signal handlers, each with the shadow of its thread at that instant. A header
// that is mapped, then records. A record begins with u32 size (its own bytes, a multiple of 8) and u32 kind.

// u64 magic: "MISSTAP1" read as a little-endian number.
#define MISSTEP_TAP_MAGIC 0x315041545353494d
#define MISSTEP_TAP_MAGIC_OFFSET 0
// u32 version of tap.bin, u32 process id, u32 flags, u32 source of ticks, u32 for each tap (prof, usr2) its signal, 0 =
// off
#define MISSTEP_TAP_VERSION 3
#define MISSTEP_TAP_VERSION_OFFSET 8
#define MISSTEP_TAP_PID_OFFSET 12
#define MISSTEP_TAP_FLAGS_OFFSET 16
#define MISSTEP_TAP_TICKS_OFFSET 20
#define MISSTEP_TAP_SIGNALS_OFFSET 24
#define MISSTEP_TAP_COUNT 2
// flags: everything was drained when the VM died in order.
#define MISSTEP_TAP_FLAG_ENDED 1
// sources of ticks: none, the time stamp counter of x86 (rdtsc), the virtual counter of AArch64 (cntvct_el0)
#define MISSTEP_TAP_TICKS_NONE 0
#define MISSTEP_TAP_TICKS_TSC 1
#define MISSTEP_TAP_TICKS_CNTVCT 2
// u64 for each tap: calls of its handler. Each call has a record or is lost.
#define MISSTEP_TAP_CALLS_OFFSET 32
// u64 for each reason: lost calls. Reasons: more threads than buffers; the thread's buffer was full; the agent had
// ended; the file has reached its largest size, or could not be written.
#define MISSTEP_TAP_LOST_OFFSET 48
#define MISSTEP_TAP_LOST_BUFFERS 0
#define MISSTEP_TAP_LOST_FULL 1
#define MISSTEP_TAP_LOST_LATE 2
#define MISSTEP_TAP_LOST_FILE 3
#define MISSTEP_TAP_LOST_COUNT 4
// u32 architecture of the instructions in the records: amd64, arm64
#define MISSTEP_TAP_ARCHITECTURE_OFFSET 80
#define MISSTEP_TAP_AMD64 1
#define MISSTEP_TAP_ARM64 2
#define MISSTEP_TAP_HEADER 4096
#define MISSTEP_TAP_MOST_BYTES 4294967296

// Kinds of records. A call that is pending has not returned yet: never in the file. Padding is never in the file
// either.
#define MISSTEP_TAP_CALL 1
#define MISSTEP_TAP_NAME 2
#define MISSTEP_TAP_CLOCK 3
#define MISSTEP_TAP_HANDLER 4
#define MISSTEP_TAP_PENDING 5
#define MISSTEP_TAP_PADDING 6
#define MISSTEP_TAP_STILL 7

// A call: u32 tid, u32 signal, u32 flags, u32 entries of the shadow that follow (the newest), u32 entries on the shadow
// stack, u32 generation of the handler, u32 taps below this one on the thread, u32 phase (see thread slots); u64 pc,
// sp, fp where the thread was interrupted; u64 CLOCK_MONOTONIC nanoseconds at entry, right before the original handler
// and right after it; u64 ticks right before it and right after it. A call without return has 0 in both fields of the
// return. What ran there: 16 bytes of code at pc, u32 how many of them are known, u32 bytes of return code that follow,
// u64 address of a return address on the stack, u64 another return address, u32 state of pc, u32 state of what that
// other one points at, u32 id of the compiled method that pc is in (0: none), i32 result of AsyncGetCallTrace, u32
// frames of it that follow. Then follow the entries, oldest first, a u32 method id each, filled up to a multiple of 8
// bytes; the frames, the top one first, i32 bci and u32 method id each; the return code. misstep.v1.Mismatch says what
// its fields return_* mean.
#define MISSTEP_TAP_CALL_TID_OFFSET 8
#define MISSTEP_TAP_CALL_SIGNAL_OFFSET 12
#define MISSTEP_TAP_CALL_FLAGS_OFFSET 16
#define MISSTEP_TAP_CALL_ENTRIES_OFFSET 20
#define MISSTEP_TAP_CALL_DEPTH_OFFSET 24
#define MISSTEP_TAP_CALL_GENERATION_OFFSET 28
#define MISSTEP_TAP_CALL_NESTED_OFFSET 32
#define MISSTEP_TAP_CALL_PHASE_OFFSET 36
#define MISSTEP_TAP_CALL_PC_OFFSET 40
#define MISSTEP_TAP_CALL_SP_OFFSET 48
#define MISSTEP_TAP_CALL_FP_OFFSET 56
#define MISSTEP_TAP_CALL_ENTER_OFFSET 64
#define MISSTEP_TAP_CALL_BEGIN_OFFSET 72
#define MISSTEP_TAP_CALL_END_OFFSET 80
#define MISSTEP_TAP_CALL_BEGIN_TICKS_OFFSET 88
#define MISSTEP_TAP_CALL_END_TICKS_OFFSET 96
#define MISSTEP_TAP_CALL_CODE_OFFSET 104
#define MISSTEP_TAP_CALL_CODE_BYTES 16
#define MISSTEP_TAP_CALL_CODE_SIZE_OFFSET 120
#define MISSTEP_TAP_CALL_RETURN_SIZE_OFFSET 124
#define MISSTEP_TAP_CALL_RETURN_AT_OFFSET 128
#define MISSTEP_TAP_CALL_RETURN_PC_OFFSET 136
#define MISSTEP_TAP_CALL_STATE_OFFSET 144
#define MISSTEP_TAP_CALL_RETURN_STATE_OFFSET 148
#define MISSTEP_TAP_CALL_COMPILED_OFFSET 152
#define MISSTEP_TAP_CALL_RESULT_OFFSET 156
#define MISSTEP_TAP_CALL_FRAMES_OFFSET 160
#define MISSTEP_TAP_CALL_SIZE 168
#define MISSTEP_TAP_MOST_ENTRIES 2048
#define MISSTEP_TAP_MOST_FRAMES 1024
#define MISSTEP_TAP_MOST_RETURN_CODE 256
// flags: the thread has a shadow; its shadow ran over, so that no entries are known; the stack that was interrupted is
// not the thread's own; virtual threads were mounted on the thread; AsyncGetCallTrace was asked; it was to be asked,
// but the thread was in the agent or on another stack; it may have had more frames; the return address occurs once more
// above.
#define MISSTEP_TAP_CALL_SHADOW 1
#define MISSTEP_TAP_CALL_OVERFLOW 2
#define MISSTEP_TAP_CALL_OTHER_STACK 4
#define MISSTEP_TAP_CALL_CARRIER 8
#define MISSTEP_TAP_CALL_WALKED 16
#define MISSTEP_TAP_CALL_BUSY 32
#define MISSTEP_TAP_CALL_CUT 64
#define MISSTEP_TAP_CALL_RETURN_COPIED 128
// states: generated code that the JVM has not announced, the interpreter, a stub, a compiled method, other code
#define MISSTEP_TAP_STATE_UNKNOWN 0
#define MISSTEP_TAP_STATE_INTERPRETED 1
#define MISSTEP_TAP_STATE_STUB 2
#define MISSTEP_TAP_STATE_COMPILED 3
#define MISSTEP_TAP_STATE_NATIVE 4
// Ids of methods: of the shadow's entries below METHODS, of frames and compiled methods above it. A frame with a null
// jmethodID has 0, one with a jmethodID that no event has described METHODS.
#define MISSTEP_TAP_METHODS 2147483648

// The name of a method, before or after the calls that have its id: u32 id, u32 bytes of text, then the text,
// "package/Class.name(descriptor)result".
#define MISSTEP_TAP_NAME_ID_OFFSET 8
#define MISSTEP_TAP_NAME_LENGTH_OFFSET 12
#define MISSTEP_TAP_NAME_SIZE 16

// The clocks at one instant, to convert between them: u64 CLOCK_MONOTONIC nanoseconds, u64 CLOCK_REALTIME nanoseconds,
// u64 ticks, u64 nanoseconds that reading them took.
#define MISSTEP_TAP_CLOCK_MONOTONIC_OFFSET 8
#define MISSTEP_TAP_CLOCK_REALTIME_OFFSET 16
#define MISSTEP_TAP_CLOCK_TICKS_OFFSET 24
#define MISSTEP_TAP_CLOCK_TOOK_OFFSET 32
#define MISSTEP_TAP_CLOCK_SIZE 40

// Another handler was found and tapped: u32 signal, u32 generation, u64 CLOCK_MONOTONIC nanoseconds, u64 its address,
// u64 its flags (sa_flags).
#define MISSTEP_TAP_HANDLER_SIGNAL_OFFSET 8
#define MISSTEP_TAP_HANDLER_GENERATION_OFFSET 12
#define MISSTEP_TAP_HANDLER_NANOS_OFFSET 16
#define MISSTEP_TAP_HANDLER_ADDRESS_OFFSET 24
#define MISSTEP_TAP_HANDLER_SA_FLAGS_OFFSET 32
#define MISSTEP_TAP_HANDLER_SIZE 40

// A thread did not run from one time to another, since its CPU time was the same: u32 tid, u32 flags (of a call), u32
// entries of its shadow that follow (the newest), u32 entries on the shadow stack; u64 CLOCK_MONOTONIC nanoseconds of
// both times, u64 ticks of both. Then follow the entries, as those of a call. A later record may have a longer time
// from the same begin.
#define MISSTEP_TAP_STILL_TID_OFFSET 8
#define MISSTEP_TAP_STILL_FLAGS_OFFSET 12
#define MISSTEP_TAP_STILL_ENTRIES_OFFSET 16
#define MISSTEP_TAP_STILL_DEPTH_OFFSET 20
#define MISSTEP_TAP_STILL_SINCE_OFFSET 24
#define MISSTEP_TAP_STILL_UNTIL_OFFSET 32
#define MISSTEP_TAP_STILL_SINCE_TICKS_OFFSET 40
#define MISSTEP_TAP_STILL_UNTIL_TICKS_OFFSET 48
#define MISSTEP_TAP_STILL_SIZE 56

// sites.bin: of each class, as the JVM runs it, the instructions of its methods at which a frame can stand below
// another one, and what they call. The magic, then records: a tag of one byte, the size of what follows, the values one
// after the other. A value is an unsigned LEB128 integer (u) or a string (s): its number in the file, from 1, 0 for the
// empty one. Names of classes have slashes.
//
// string    the bytes of one string, in order of their numbers
// class     s name, s super, u flags;
//           u targets, for each: s owner, s name, s descriptor, u flags;
//           u methods, for each: s name, s descriptor, u flags, u occasions on which the VM calls it;
//             if it has code: u sites, for each: u bci (from the site before), u occasions | MISSTEP_SITES_CALLS; if it
//             calls, u opcode and u target (from 1, 0 for one that cannot be read)
// redefined s name: a class of that name was redefined or retransformed
// end       the file is as large as it may be: later classes are missing

// u64 magic: "MISSSIT1" read as a little-endian number.
#define MISSTEP_SITES_MAGIC 0x315449535353494d
#define MISSTEP_SITES_MOST_BYTES 268435456
// tags: 'S', 'C', 'R', 'E'
#define MISSTEP_SITES_STRING 83
#define MISSTEP_SITES_CLASS 67
#define MISSTEP_SITES_REDEFINED 82
#define MISSTEP_SITES_END 69
// flags of a class, of a target, of a method
#define MISSTEP_SITES_INTERFACE 1
#define MISSTEP_SITES_POLYMORPHIC 1
#define MISSTEP_SITES_NATIVE 1
#define MISSTEP_SITES_STATIC 2
#define MISSTEP_SITES_CODE 4
// occasions: what the VM may do at an instruction, and what it calls a method for
#define MISSTEP_SITES_INITIALISING 1
#define MISSTEP_SITES_RESOLVING 2
#define MISSTEP_SITES_LINKING 4
#define MISSTEP_SITES_FINALISING 8
#define MISSTEP_SITES_COMPARING 16
#define MISSTEP_SITES_COMPILING 32
#define MISSTEP_SITES_CALLS 64

#endif  // MISSTEP_ABI_H
