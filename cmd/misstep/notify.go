package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/coordinator/notify"
	misstepv1 "misstep/proto/misstep/v1"
)

// notifyFlags name who is told what happens to findings.
type notifyFlags struct {
	Notify string `help:"YAML file of targets, webhooks and mail, that are told about findings." type:"path" placeholder:"FILE"`
}

func (f notifyFlags) targets() ([]notify.Target, error) {
	if f.Notify == "" {
		return nil, nil
	}
	return notify.ReadTargets(f.Notify)
}

type notifyCommand struct {
	Targets string `arg:"" help:"YAML file of targets." type:"path" placeholder:"FILE"`
}

// sampleTimeout bounds the delivery of a sample to one target.
const sampleTimeout = 10 * time.Second

// Run sends a sample to each target and says which ones took it.
func (c *notifyCommand) Run(ctx context.Context, e *env) error {
	targets, err := notify.ReadTargets(c.Targets)
	if err != nil {
		return err
	}
	failed := 0
	for _, t := range targets {
		if err := sendSample(ctx, t); err != nil {
			failed++
			fmt.Fprintf(e.stdout, "%s: %v\n", t.Name, err)
			continue
		}
		fmt.Fprintf(e.stdout, "%s: delivered\n", t.Name)
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d targets did not take the sample", failed, len(targets))
	}
	return nil
}

func sendSample(ctx context.Context, t notify.Target) error {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	now := timestamppb.Now()
	return t.Sender.Send(ctx, &misstepv1.Notification{Id: "N" + rand.Text(), Created: now, Events: []*misstepv1.Event{{
		Kind: notify.NewFinding, Time: now, FindingId: "F000000000000", Title: "sample message: no finding of any trial",
	}}})
}
