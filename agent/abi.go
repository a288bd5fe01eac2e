package agent

import "misstep/recipe"

// The layout of status.bin, mirrored from abi.h. abi_test.go reads abi.h and fails when a number differs or is missing.
const (
	// ABIVersion is the version of what native code, Java and Go share (abi.h).
	ABIVersion            = 2
	statusMagic           = 0x315045545353494d
	statusMagicOffset     = 0
	statusVersionOffset   = 8
	statusSizeOffset      = 12
	statusPidOffset       = 16
	statusFlagsOffset     = 20
	statusFlagStarted     = 1
	statusFlagEnded       = 2
	statusSentOffset      = 32
	statusDeliveredOffset = 40
	statusAnsweredOffset  = 48
	statusInstrumentedOff = 56
	statusFailedOffset    = 64
	statusStrayOffset     = 72
	statusHeartbeatOffset = 80
	statusSecondOffset    = 88
	statusTracedOffset    = 96
	statusGuessedOffset   = 104
	statusHeader          = 256
	checkCount            = recipe.StatusSlots
	checkName             = 32
	checkTotalOffset      = 32
	checkMatchOffset      = 40
	checkMismatchOffset   = 48
	checkUnwalkableOffset = 56
	checkUnwalkableCount  = 16
	checkToleratedOffset  = 184
	checkToleratedCount   = 32
	checkVoidOffset       = 1464
	checkVoidCount        = 32
	checkNamedSize        = 40
	checkSize             = 2752
	threadCount           = 2048
	threadTIDOffset       = 0
	threadPhaseOffset     = 4
	threadEnterOffset     = 8
	threadSequenceOffset  = 16
	threadPCOffset        = 24
	threadSPOffset        = 32
	threadSize            = 64
	phaseNone             = 0
	phaseHandler          = 1
	phaseWalk             = 2
	phaseCheck            = 3
	phaseOwnWalk          = 4
	phaseGuess            = 5
	scheduleMagic         = 0x324548435353494d
	scheduleMagicOffset   = 0
	scheduleCapacityOff   = 8
	scheduleCountOffset   = 16
	scheduleStatsOffset   = 64
	scheduleStatsCount    = 17
	scheduleHistOffset    = 200
	scheduleHistCount     = 3
	scheduleBucketsCount  = 40
	scheduleRecordsOffset = 4096
	scheduleRecordSize    = 80
	scheduleCapacity      = 262144
	statusFileSize        = statusHeader + checkCount*checkSize + threadCount*threadSize
)
