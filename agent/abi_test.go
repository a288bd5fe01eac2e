package agent

import (
	"bufio"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// mirrored maps the names of abi.h to the constants of abi.go.
var mirrored = map[string]uint64{
	"MISSTEP_ABI_VERSION":                   ABIVersion,
	"MISSTEP_STATUS_MAGIC":                  statusMagic,
	"MISSTEP_STATUS_MAGIC_OFFSET":           statusMagicOffset,
	"MISSTEP_STATUS_VERSION_OFFSET":         statusVersionOffset,
	"MISSTEP_STATUS_SIZE_OFFSET":            statusSizeOffset,
	"MISSTEP_STATUS_PID_OFFSET":             statusPidOffset,
	"MISSTEP_STATUS_FLAGS_OFFSET":           statusFlagsOffset,
	"MISSTEP_STATUS_FLAG_STARTED":           statusFlagStarted,
	"MISSTEP_STATUS_FLAG_ENDED":             statusFlagEnded,
	"MISSTEP_STATUS_SENT_OFFSET":            statusSentOffset,
	"MISSTEP_STATUS_DELIVERED_OFFSET":       statusDeliveredOffset,
	"MISSTEP_STATUS_ANSWERED_OFFSET":        statusAnsweredOffset,
	"MISSTEP_STATUS_INSTRUMENTED_OFFSET":    statusInstrumentedOff,
	"MISSTEP_STATUS_FAILED_OFFSET":          statusFailedOffset,
	"MISSTEP_STATUS_STRAY_OFFSET":           statusStrayOffset,
	"MISSTEP_STATUS_HEARTBEAT_OFFSET":       statusHeartbeatOffset,
	"MISSTEP_STATUS_SECOND_OFFSET":          statusSecondOffset,
	"MISSTEP_STATUS_TRACED_OFFSET":          statusTracedOffset,
	"MISSTEP_STATUS_GUESSED_OFFSET":         statusGuessedOffset,
	"MISSTEP_STATUS_HEADER":                 statusHeader,
	"MISSTEP_CHECK_NAME":                    checkName,
	"MISSTEP_CHECK_TOTAL_OFFSET":            checkTotalOffset,
	"MISSTEP_CHECK_MATCH_OFFSET":            checkMatchOffset,
	"MISSTEP_CHECK_MISMATCH_OFFSET":         checkMismatchOffset,
	"MISSTEP_CHECK_UNWALKABLE_OFFSET":       checkUnwalkableOffset,
	"MISSTEP_CHECK_UNWALKABLE_COUNT":        checkUnwalkableCount,
	"MISSTEP_CHECK_TOLERATED_OFFSET":        checkToleratedOffset,
	"MISSTEP_CHECK_TOLERATED_COUNT":         checkToleratedCount,
	"MISSTEP_CHECK_VOID_OFFSET":             checkVoidOffset,
	"MISSTEP_CHECK_VOID_COUNT":              checkVoidCount,
	"MISSTEP_CHECK_NAMED_SIZE":              checkNamedSize,
	"MISSTEP_CHECK_SIZE":                    checkSize,
	"MISSTEP_THREAD_COUNT":                  threadCount,
	"MISSTEP_THREAD_TID_OFFSET":             threadTIDOffset,
	"MISSTEP_THREAD_PHASE_OFFSET":           threadPhaseOffset,
	"MISSTEP_THREAD_ENTER_OFFSET":           threadEnterOffset,
	"MISSTEP_THREAD_SEQUENCE_OFFSET":        threadSequenceOffset,
	"MISSTEP_THREAD_PC_OFFSET":              threadPCOffset,
	"MISSTEP_THREAD_SP_OFFSET":              threadSPOffset,
	"MISSTEP_THREAD_SIZE":                   threadSize,
	"MISSTEP_PHASE_NONE":                    phaseNone,
	"MISSTEP_PHASE_HANDLER":                 phaseHandler,
	"MISSTEP_PHASE_WALK":                    phaseWalk,
	"MISSTEP_PHASE_CHECK":                   phaseCheck,
	"MISSTEP_PHASE_OWN_WALK":                phaseOwnWalk,
	"MISSTEP_PHASE_GUESS":                   phaseGuess,
	"MISSTEP_SCHEDULE_MAGIC":                scheduleMagic,
	"MISSTEP_SCHEDULE_MAGIC_OFFSET":         scheduleMagicOffset,
	"MISSTEP_SCHEDULE_CAPACITY_OFFSET":      scheduleCapacityOff,
	"MISSTEP_SCHEDULE_COUNT_OFFSET":         scheduleCountOffset,
	"MISSTEP_SCHEDULE_STATS_OFFSET":         scheduleStatsOffset,
	"MISSTEP_SCHEDULE_STATS_COUNT":          scheduleStatsCount,
	"MISSTEP_SCHEDULE_HISTOGRAMS_OFFSET":    scheduleHistOffset,
	"MISSTEP_SCHEDULE_HISTOGRAMS_COUNT":     scheduleHistCount,
	"MISSTEP_SCHEDULE_BUCKETS_COUNT":        scheduleBucketsCount,
	"MISSTEP_SCHEDULE_RECORDS_OFFSET":       scheduleRecordsOffset,
	"MISSTEP_SCHEDULE_RECORD_SIZE":          scheduleRecordSize,
	"MISSTEP_SCHEDULE_CAPACITY":             scheduleCapacity,
	"MISSTEP_TAP_MAGIC":                     tapMagic,
	"MISSTEP_TAP_MAGIC_OFFSET":              tapMagicOffset,
	"MISSTEP_TAP_VERSION":                   tapVersion,
	"MISSTEP_TAP_VERSION_OFFSET":            tapVersionOffset,
	"MISSTEP_TAP_PID_OFFSET":                tapPIDOffset,
	"MISSTEP_TAP_FLAGS_OFFSET":              tapFlagsOffset,
	"MISSTEP_TAP_TICKS_OFFSET":              tapTicksOffset,
	"MISSTEP_TAP_SIGNALS_OFFSET":            tapSignalsOffset,
	"MISSTEP_TAP_COUNT":                     tapCount,
	"MISSTEP_TAP_FLAG_ENDED":                tapFlagEnded,
	"MISSTEP_TAP_TICKS_NONE":                tapTicksNone,
	"MISSTEP_TAP_TICKS_TSC":                 tapTicksTsc,
	"MISSTEP_TAP_TICKS_CNTVCT":              tapTicksCntvct,
	"MISSTEP_TAP_CALLS_OFFSET":              tapCallsOffset,
	"MISSTEP_TAP_LOST_OFFSET":               tapLostOffset,
	"MISSTEP_TAP_LOST_BUFFERS":              tapLostBuffers,
	"MISSTEP_TAP_LOST_FULL":                 tapLostFull,
	"MISSTEP_TAP_LOST_LATE":                 tapLostLate,
	"MISSTEP_TAP_LOST_FILE":                 tapLostFile,
	"MISSTEP_TAP_LOST_COUNT":                tapLostCount,
	"MISSTEP_TAP_HEADER":                    tapHeader,
	"MISSTEP_TAP_MOST_BYTES":                tapMostBytes,
	"MISSTEP_TAP_CALL":                      tapCall,
	"MISSTEP_TAP_NAME":                      tapName,
	"MISSTEP_TAP_CLOCK":                     tapClock,
	"MISSTEP_TAP_HANDLER":                   tapHandler,
	"MISSTEP_TAP_PENDING":                   tapPending,
	"MISSTEP_TAP_PADDING":                   tapPadding,
	"MISSTEP_TAP_CALL_TID_OFFSET":           tapCallTIDOffset,
	"MISSTEP_TAP_CALL_SIGNAL_OFFSET":        tapCallSignalOffset,
	"MISSTEP_TAP_CALL_FLAGS_OFFSET":         tapCallFlagsOffset,
	"MISSTEP_TAP_CALL_ENTRIES_OFFSET":       tapCallEntriesOffset,
	"MISSTEP_TAP_CALL_DEPTH_OFFSET":         tapCallDepthOffset,
	"MISSTEP_TAP_CALL_GENERATION_OFFSET":    tapCallGenerationOffset,
	"MISSTEP_TAP_CALL_NESTED_OFFSET":        tapCallNestedOffset,
	"MISSTEP_TAP_CALL_PHASE_OFFSET":         tapCallPhaseOffset,
	"MISSTEP_TAP_CALL_PC_OFFSET":            tapCallPCOffset,
	"MISSTEP_TAP_CALL_SP_OFFSET":            tapCallSPOffset,
	"MISSTEP_TAP_CALL_FP_OFFSET":            tapCallFPOffset,
	"MISSTEP_TAP_CALL_ENTER_OFFSET":         tapCallEnterOffset,
	"MISSTEP_TAP_CALL_BEGIN_OFFSET":         tapCallBeginOffset,
	"MISSTEP_TAP_CALL_END_OFFSET":           tapCallEndOffset,
	"MISSTEP_TAP_CALL_BEGIN_TICKS_OFFSET":   tapCallBeginTicksOffset,
	"MISSTEP_TAP_CALL_END_TICKS_OFFSET":     tapCallEndTicksOffset,
	"MISSTEP_TAP_CALL_SIZE":                 tapCallSize,
	"MISSTEP_TAP_MOST_ENTRIES":              tapMostEntries,
	"MISSTEP_TAP_CALL_SHADOW":               tapCallShadow,
	"MISSTEP_TAP_CALL_OVERFLOW":             tapCallOverflow,
	"MISSTEP_TAP_CALL_OTHER_STACK":          tapCallOtherStack,
	"MISSTEP_TAP_ARCHITECTURE_OFFSET":       tapArchitectureOffset,
	"MISSTEP_TAP_AMD64":                     tapAmd64,
	"MISSTEP_TAP_ARM64":                     tapArm64,
	"MISSTEP_TAP_CALL_CODE_OFFSET":          tapCallCodeOffset,
	"MISSTEP_TAP_CALL_CODE_BYTES":           tapCallCodeBytes,
	"MISSTEP_TAP_CALL_CODE_SIZE_OFFSET":     tapCallCodeSizeOffset,
	"MISSTEP_TAP_CALL_RETURN_SIZE_OFFSET":   tapCallReturnSizeOffset,
	"MISSTEP_TAP_CALL_RETURN_AT_OFFSET":     tapCallReturnAtOffset,
	"MISSTEP_TAP_CALL_RETURN_PC_OFFSET":     tapCallReturnPCOffset,
	"MISSTEP_TAP_CALL_STATE_OFFSET":         tapCallStateOffset,
	"MISSTEP_TAP_CALL_RETURN_STATE_OFFSET":  tapCallReturnStateOffset,
	"MISSTEP_TAP_CALL_COMPILED_OFFSET":      tapCallCompiledOffset,
	"MISSTEP_TAP_CALL_RESULT_OFFSET":        tapCallResultOffset,
	"MISSTEP_TAP_CALL_FRAMES_OFFSET":        tapCallFramesOffset,
	"MISSTEP_TAP_MOST_FRAMES":               tapMostFrames,
	"MISSTEP_TAP_MOST_RETURN_CODE":          tapMostReturnCode,
	"MISSTEP_TAP_CALL_WALKED":               tapCallWalked,
	"MISSTEP_TAP_CALL_BUSY":                 tapCallBusy,
	"MISSTEP_TAP_CALL_CUT":                  tapCallCut,
	"MISSTEP_TAP_CALL_RETURN_COPIED":        tapCallReturnCopied,
	"MISSTEP_TAP_STATE_UNKNOWN":             tapStateUnknown,
	"MISSTEP_TAP_STATE_INTERPRETED":         tapStateInterpreted,
	"MISSTEP_TAP_STATE_STUB":                tapStateStub,
	"MISSTEP_TAP_STATE_COMPILED":            tapStateCompiled,
	"MISSTEP_TAP_STATE_NATIVE":              tapStateNative,
	"MISSTEP_TAP_METHODS":                   tapMethods,
	"MISSTEP_TAP_CALL_CARRIER":              tapCallCarrier,
	"MISSTEP_TAP_NAME_ID_OFFSET":            tapNameIDOffset,
	"MISSTEP_TAP_NAME_LENGTH_OFFSET":        tapNameLengthOffset,
	"MISSTEP_TAP_NAME_SIZE":                 tapNameSize,
	"MISSTEP_TAP_CLOCK_MONOTONIC_OFFSET":    tapClockMonotonicOffset,
	"MISSTEP_TAP_CLOCK_REALTIME_OFFSET":     tapClockRealtimeOffset,
	"MISSTEP_TAP_CLOCK_TICKS_OFFSET":        tapClockTicksOffset,
	"MISSTEP_TAP_CLOCK_TOOK_OFFSET":         tapClockTookOffset,
	"MISSTEP_TAP_CLOCK_SIZE":                tapClockSize,
	"MISSTEP_TAP_HANDLER_SIGNAL_OFFSET":     tapHandlerSignalOffset,
	"MISSTEP_TAP_HANDLER_GENERATION_OFFSET": tapHandlerGenerationOffset,
	"MISSTEP_TAP_HANDLER_NANOS_OFFSET":      tapHandlerNanosOffset,
	"MISSTEP_TAP_HANDLER_ADDRESS_OFFSET":    tapHandlerAddressOffset,
	"MISSTEP_TAP_HANDLER_SA_FLAGS_OFFSET":   tapHandlerSaFlagsOffset,
	"MISSTEP_TAP_HANDLER_SIZE":              tapHandlerSize,
	"MISSTEP_SITES_MAGIC":                   sitesMagic,
	"MISSTEP_SITES_MOST_BYTES":              sitesMostBytes,
	"MISSTEP_SITES_STRING":                  sitesString,
	"MISSTEP_SITES_CLASS":                   sitesClass,
	"MISSTEP_SITES_REDEFINED":               sitesRedefined,
	"MISSTEP_SITES_END":                     sitesEnd,
	"MISSTEP_SITES_INTERFACE":               sitesInterface,
	"MISSTEP_SITES_POLYMORPHIC":             sitesPolymorphic,
	"MISSTEP_SITES_NATIVE":                  sitesNative,
	"MISSTEP_SITES_STATIC":                  sitesStatic,
	"MISSTEP_SITES_CODE":                    sitesCode,
	"MISSTEP_SITES_INITIALISING":            uint64(Initialising),
	"MISSTEP_SITES_RESOLVING":               uint64(Resolving),
	"MISSTEP_SITES_LINKING":                 uint64(Linking),
	"MISSTEP_SITES_FINALISING":              uint64(Finalising),
	"MISSTEP_SITES_COMPARING":               uint64(Comparing),
	"MISSTEP_SITES_COMPILING":               uint64(Compiling),
	"MISSTEP_SITES_CALLS":                   sitesCalls,
}

// notForGo matches the names of abi.h that only C++ and Java share.
var notForGo = regexp.MustCompile(`^MISSTEP_SHADOW_|^MISSTEP_ABI_H$`)

func TestConstantsEqualTheHeader(t *testing.T) {
	f, err := os.Open("abi.h")
	require.NoError(t, err)
	defer f.Close()
	define := regexp.MustCompile(`^#define (MISSTEP_\w+)(?: (\w+))?$`)
	found := map[string]uint64{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		m := define.FindStringSubmatch(lines.Text())
		if m == nil || notForGo.MatchString(m[1]) {
			continue
		}
		n, err := strconv.ParseUint(m[2], 0, 64)
		require.NoErrorf(t, err, "value of %s", m[1])
		found[m[1]] = n
	}
	require.Equal(t, mirrored, found)
}

func TestPhasesHaveNames(t *testing.T) {
	for p, name := range map[Phase]string{
		PhaseNone: "", PhaseHandler: "handler", PhaseWalk: "walk", PhaseCheck: "check", PhaseOwnWalk: "own-walk",
		PhaseGuess: "guess", 99: "phase-99",
	} {
		require.Equal(t, name, p.String())
	}
}
