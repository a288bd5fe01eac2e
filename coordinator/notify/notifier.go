package notify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/projects"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// Interval is the time between two rounds of Run.
const Interval = 15 * time.Second

// stateName is the name under which the store keeps the NotifierState of the default project; those of others have it in their
// keys.
const stateName = "notifier"

// Notifier watches a store and sends what happens to the targets.
type Notifier struct {
	Store store.Store
	// Project whose findings it watches; "" is projects.Default. The targets are of this project.
	Project string
	// See reads what a round compares.
	See func(tx store.Tx) (Snapshot, error)
	// Clock returns the time.
	Clock func() time.Time
	// NewID returns an id for a message.
	NewID   func() string
	Targets []Target
	Logger  *slog.Logger
}

// Run makes a round every Interval until ctx ends, and then a last one that waits for no interval. Errors are logged; the next
// round tries again.
func (n *Notifier) Run(ctx context.Context) {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			n.log(n.Round(ctx, false))
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), claim)
	defer cancel()
	n.log(n.Round(last, true))
}

// state returns the name under which the store keeps its state.
func (n *Notifier) state() string {
	return projects.Key(cmp.Or(n.Project, projects.Default), stateName)
}

func (n *Notifier) log(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		n.Logger.Error("notifications wait", slog.Any("error", err))
	}
}

// Round notices what happened since the last round and sends what is due. With hurry it does not wait for the minimum time between
// two messages. The error is that of the store; failed deliveries are logged and tried again by a later round.
func (n *Notifier) Round(ctx context.Context, hurry bool) error {
	var seen Snapshot
	var before []byte
	// Reading takes long in a large store; only the change of the notifier's own state keeps others from writing.
	err := n.Store.View(ctx, func(tx store.Tx) (err error) {
		if before, err = tx.WorkerState(n.state()); err == nil {
			seen, err = n.See(tx)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("see what is new: %w", err)
	}
	messages := map[string]*misstepv1.Notification{}
	err = n.change(ctx, func(state *misstepv1.NotifierState, raw []byte, now time.Time) error {
		clear(messages)
		var events []*misstepv1.Event
		if bytes.Equal(raw, before) { // else another coordinator on the same store noticed more than was seen here
			events = Observe(state, seen, now)
		}
		for _, t := range n.Targets {
			waiting := targetState(state, t.Name)
			for _, e := range events {
				if t.wants(e) {
					add(waiting, e)
				}
			}
			if m := due(waiting, now, hurry, n.NewID); m != nil {
				if n.Project != projects.Default {
					m.Project = n.Project
				}
				messages[t.Name] = proto.CloneOf(m)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("notice what is new: %w", err)
	}
	var sending sync.WaitGroup
	results := make([]error, len(n.Targets))
	for i, t := range n.Targets {
		if m := messages[t.Name]; m != nil {
			sending.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, sendTimeout)
				defer cancel()
				results[i] = t.Sender.Send(ctx, m)
			})
		}
	}
	sending.Wait()
	if len(messages) == 0 {
		return nil
	}
	// What was delivered is noted even if the caller has no time left, or it would be delivered again.
	noting, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	return n.change(noting, func(state *misstepv1.NotifierState, _ []byte, now time.Time) error {
		for i, t := range n.Targets {
			if m := messages[t.Name]; m != nil {
				n.note(targetState(state, t.Name), t, m, results[i], now)
			}
		}
		return nil
	})
}

func (n *Notifier) note(state *misstepv1.TargetState, t Target, m *misstepv1.Notification, failure error, now time.Time) {
	var wait time.Duration
	if later, ok := errors.AsType[*LaterError](failure); ok {
		wait = min(later.After, patience)
	}
	givenUp := sent(state, m.GetId(), failure, wait, t.every(), now)
	switch {
	case givenUp:
		n.Logger.Error("notification given up; the next one counts its events as omitted", slog.String("target", t.Name),
			slog.Int("events", len(m.GetEvents())), slog.Any("error", failure))
	case failure != nil:
		n.Logger.Warn("notification not delivered, it is tried again", slog.String("target", t.Name),
			slog.Time("next", state.GetNext().AsTime()), slog.Any("error", failure))
	}
}

// change runs f on the stored state, also as it is stored, in one transaction and stores the state when f changed it.
func (n *Notifier) change(ctx context.Context, f func(*misstepv1.NotifierState, []byte, time.Time) error) error {
	now := n.Clock()
	return n.Store.Update(ctx, func(tx store.Tx) error {
		raw, err := tx.WorkerState(n.state())
		if err != nil {
			return err
		}
		state := &misstepv1.NotifierState{}
		if err := proto.Unmarshal(raw, state); err != nil {
			return fmt.Errorf("read the notifier's state: %w", err)
		}
		before := proto.CloneOf(state)
		if err := f(state, raw, now); err != nil || proto.Equal(before, state) {
			return err
		}
		if raw, err = proto.Marshal(state); err != nil {
			return fmt.Errorf("write the notifier's state: %w", err)
		}
		return tx.PutWorkerState(n.state(), raw)
	})
}

func targetState(state *misstepv1.NotifierState, name string) *misstepv1.TargetState {
	if state.Targets == nil {
		state.Targets = map[string]*misstepv1.TargetState{}
	}
	if state.Targets[name] == nil {
		state.Targets[name] = &misstepv1.TargetState{}
	}
	return state.Targets[name]
}
