package main

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/bundle"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/triage"
	"misstep/triage/triagetest"
)

// record is a mismatch as agent/native/src/record.cpp writes it, as far as a bundle's script looks.
func record(m *misstepv1.Mismatch) string {
	trace := func(t *misstepv1.Trace) string {
		var frames []string
		for _, f := range t.GetFrames() {
			frames = append(frames, fmt.Sprintf(`{"className":"%s","method":"%s","descriptor":"%s","bci":%d}`, f.GetClassName(),
				f.GetMethod(), f.GetDescriptor_(), f.GetBci()))
		}
		return fmt.Sprintf(`{"source":"%s","frames":[%s],"numFrames":%d}`, t.GetSource(), strings.Join(frames, ","),
			t.GetNumFrames())
	}
	return fmt.Sprintf(
		`{"check":"%s","kind":"%s","reference":%s,"suspect":%s,"divergence":%d,"thread":"t","topState":"%s","count":1}`,
		m.GetCheck(), m.GetKind(), trace(m.GetReference()), trace(m.GetSuspect()), m.GetDivergence(), m.GetTopState())
}

// A record that shows a finding is a hit for its bundle's script, whatever the finding; most records of other findings with its
// check and kind are none.
func TestABundlesScriptHitsWhatShowsItsFinding(t *testing.T) {
	all, err := triagetest.Open("../../triage/triagetest/testdata/labelled.jsonl.gz")
	require.NoError(t, err)
	records, wanted := map[string][]string{}, map[string]bundle.Expect{} // by finding
	for _, labelled := range all {
		for _, m := range labelled.Outcome.GetMismatches() {
			if len(m.GetReference().GetFrames())+len(m.GetSuspect().GetFrames()) == 0 {
				continue // left out, see triage.Slim
			}
			signature, _ := triage.Mismatch(m)
			id := fmt.Sprint(signature.GetParts())
			records[id] = append(records[id], record(m))
			wanted[id] = bundle.ExpectOf(&misstepv1.Finding{Signature: signature})
		}
	}
	require.Greater(t, len(records), 30, "findings")
	hits := func(like, unlike []string, record string) bool {
		for _, p := range like {
			if !regexp.MustCompile(p).MatchString(record) {
				return false
			}
		}
		for _, p := range unlike {
			if regexp.MustCompile(p).MatchString(record) {
				return false
			}
		}
		return true
	}
	strangers, alike := 0, 0
	for id, e := range wanted {
		like, unlike := e.Record()
		for of, lines := range records {
			for _, line := range lines {
				hit := hits(like, unlike, line)
				if of == id {
					require.True(t, hit, "%s\n%+v\n%s", id, e, line)
					continue
				}
				if hits(like[:2], nil, line) { // check and kind
					alike++
				}
				if hit {
					strangers++
				}
			}
		}
	}
	t.Logf("%d findings; of %d records of others with their check and kind %d hit", len(wanted), alike, strangers)
	require.Less(t, strangers*2, alike)
}
