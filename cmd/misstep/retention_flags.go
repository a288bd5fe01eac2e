package main

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"misstep/app/retention"
)

// bytesFlag is a size such as 200GiB.
type bytesFlag struct{ n int64 }

// maxBytesFlag is more than any store has: 1 EiB.
const maxBytesFlag = 1 << 60

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *bytesFlag) UnmarshalText(text []byte) error {
	n, err := humanize.ParseBytes(string(text))
	if err != nil || n > maxBytesFlag {
		return fmt.Errorf("%q: expected a size such as 500MB, 200GiB or 1TiB", text)
	}
	f.n = int64(n)
	return nil
}

// retentionFlags are the rules by which trials age.
type retentionFlags struct {
	KeepTrials   time.Duration `within:"[1h,)" help:"Age, e.g. 30d, at which trials that found nothing lose their evidence and the details of their outcome (default: never)." placeholder:"TIME"`
	KeepEvidence bytesFlag     `help:"Size of such trials' evidence, e.g. 200GiB, beyond which the oldest lose it (default: no bound)." placeholder:"SIZE"`
}

func (f retentionFlags) rules() retention.Rules {
	return retention.Rules{Trials: f.KeepTrials, Evidence: f.KeepEvidence.n}
}
