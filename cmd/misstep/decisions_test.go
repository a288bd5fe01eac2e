package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"google.golang.org/protobuf/types/known/timestamppb"

	misstepv1 "misstep/proto/misstep/v1"
)

func TestDecisionText(t *testing.T) {
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.Local)
	d := &misstepv1.TriageDecision{
		Id: 3, Made: timestamppb.New(at), Kind: "note", Finding: "F1", Reason: "seen by hand", Undone: timestamppb.New(at.Add(time.Hour)),
	}
	assert.Equal(t, "3  2026-11-27 12:00:00  F1: seen by hand  (undone 2026-11-27 13:00:00)", decisionText(d))
	d.Kind, d.Into, d.Undone = "merge", "F2", nil
	assert.Equal(t, "3  2026-11-27 12:00:00  F1 merged into F2: seen by hand", decisionText(d))
}
