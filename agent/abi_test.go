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
	"MISSTEP_ABI_VERSION":                ABIVersion,
	"MISSTEP_STATUS_MAGIC":               statusMagic,
	"MISSTEP_STATUS_MAGIC_OFFSET":        statusMagicOffset,
	"MISSTEP_STATUS_VERSION_OFFSET":      statusVersionOffset,
	"MISSTEP_STATUS_SIZE_OFFSET":         statusSizeOffset,
	"MISSTEP_STATUS_PID_OFFSET":          statusPidOffset,
	"MISSTEP_STATUS_FLAGS_OFFSET":        statusFlagsOffset,
	"MISSTEP_STATUS_FLAG_STARTED":        statusFlagStarted,
	"MISSTEP_STATUS_FLAG_ENDED":          statusFlagEnded,
	"MISSTEP_STATUS_SENT_OFFSET":         statusSentOffset,
	"MISSTEP_STATUS_DELIVERED_OFFSET":    statusDeliveredOffset,
	"MISSTEP_STATUS_ANSWERED_OFFSET":     statusAnsweredOffset,
	"MISSTEP_STATUS_INSTRUMENTED_OFFSET": statusInstrumentedOff,
	"MISSTEP_STATUS_FAILED_OFFSET":       statusFailedOffset,
	"MISSTEP_STATUS_STRAY_OFFSET":        statusStrayOffset,
	"MISSTEP_STATUS_HEARTBEAT_OFFSET":    statusHeartbeatOffset,
	"MISSTEP_STATUS_SECOND_OFFSET":       statusSecondOffset,
	"MISSTEP_STATUS_TRACED_OFFSET":       statusTracedOffset,
	"MISSTEP_STATUS_GUESSED_OFFSET":      statusGuessedOffset,
	"MISSTEP_STATUS_HEADER":              statusHeader,
	"MISSTEP_CHECK_NAME":                 checkName,
	"MISSTEP_CHECK_TOTAL_OFFSET":         checkTotalOffset,
	"MISSTEP_CHECK_MATCH_OFFSET":         checkMatchOffset,
	"MISSTEP_CHECK_MISMATCH_OFFSET":      checkMismatchOffset,
	"MISSTEP_CHECK_UNWALKABLE_OFFSET":    checkUnwalkableOffset,
	"MISSTEP_CHECK_UNWALKABLE_COUNT":     checkUnwalkableCount,
	"MISSTEP_CHECK_TOLERATED_OFFSET":     checkToleratedOffset,
	"MISSTEP_CHECK_TOLERATED_COUNT":      checkToleratedCount,
	"MISSTEP_CHECK_VOID_OFFSET":          checkVoidOffset,
	"MISSTEP_CHECK_VOID_COUNT":           checkVoidCount,
	"MISSTEP_CHECK_NAMED_SIZE":           checkNamedSize,
	"MISSTEP_CHECK_SIZE":                 checkSize,
	"MISSTEP_THREAD_COUNT":               threadCount,
	"MISSTEP_THREAD_TID_OFFSET":          threadTIDOffset,
	"MISSTEP_THREAD_PHASE_OFFSET":        threadPhaseOffset,
	"MISSTEP_THREAD_ENTER_OFFSET":        threadEnterOffset,
	"MISSTEP_THREAD_SEQUENCE_OFFSET":     threadSequenceOffset,
	"MISSTEP_THREAD_PC_OFFSET":           threadPCOffset,
	"MISSTEP_THREAD_SP_OFFSET":           threadSPOffset,
	"MISSTEP_THREAD_SIZE":                threadSize,
	"MISSTEP_PHASE_NONE":                 phaseNone,
	"MISSTEP_PHASE_HANDLER":              phaseHandler,
	"MISSTEP_PHASE_WALK":                 phaseWalk,
	"MISSTEP_PHASE_CHECK":                phaseCheck,
	"MISSTEP_PHASE_OWN_WALK":             phaseOwnWalk,
	"MISSTEP_PHASE_GUESS":                phaseGuess,
	"MISSTEP_SCHEDULE_MAGIC":             scheduleMagic,
	"MISSTEP_SCHEDULE_MAGIC_OFFSET":      scheduleMagicOffset,
	"MISSTEP_SCHEDULE_CAPACITY_OFFSET":   scheduleCapacityOff,
	"MISSTEP_SCHEDULE_COUNT_OFFSET":      scheduleCountOffset,
	"MISSTEP_SCHEDULE_STATS_OFFSET":      scheduleStatsOffset,
	"MISSTEP_SCHEDULE_STATS_COUNT":       scheduleStatsCount,
	"MISSTEP_SCHEDULE_HISTOGRAMS_OFFSET": scheduleHistOffset,
	"MISSTEP_SCHEDULE_HISTOGRAMS_COUNT":  scheduleHistCount,
	"MISSTEP_SCHEDULE_BUCKETS_COUNT":     scheduleBucketsCount,
	"MISSTEP_SCHEDULE_RECORDS_OFFSET":    scheduleRecordsOffset,
	"MISSTEP_SCHEDULE_RECORD_SIZE":       scheduleRecordSize,
	"MISSTEP_SCHEDULE_CAPACITY":          scheduleCapacity,
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
