package bench

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// Progress shows on stderr how much of its time a benchmark, or a part of one, has used: a bar on a terminal, otherwise a line each
// minute. The caller calls end when the measurement ends, possibly before its time.
func Progress(name string, until time.Time) (end func()) {
	if term.IsTerminal(int(os.Stderr.Fd())) {
		return progressBar(os.Stderr, name, time.Now(), until)
	}
	return progressLines(os.Stderr, name, time.Now(), until, time.Minute)
}

func progressBar(w io.Writer, name string, start, until time.Time) (end func()) {
	p := mpb.New(mpb.WithOutput(w), mpb.WithWidth(24), mpb.WithRefreshRate(time.Second))
	bar := p.AddBar(int64(until.Sub(start)), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(name)),
		mpb.AppendDecorators(
			decor.Percentage(decor.WC{W: 5}),
			decor.Any(func(decor.Statistics) string { return "  ETA " + left(time.Now(), until).String() })))
	stop := each(time.Second, func(now time.Time) { bar.SetCurrent(int64(min(now.Sub(start), until.Sub(start)-1))) })
	return func() {
		stop()
		bar.Abort(true)
		p.Wait()
	}
}

func progressLines(w io.Writer, name string, start, until time.Time, every time.Duration) (end func()) {
	return each(every, func(now time.Time) {
		fmt.Fprintf(w, "%s: %v of %v, %v left\n", name, now.Sub(start).Round(time.Second), until.Sub(start).Round(time.Second),
			left(now, until))
	})
}

// left returns the time until then, in whole seconds, 0 if it has passed.
func left(now, until time.Time) time.Duration { return max(until.Sub(now), 0).Round(time.Second) }

// each calls report at regular intervals, in a goroutine that has ended when stop returns.
func each(every time.Duration, report func(now time.Time)) (stop func()) {
	ticker := time.NewTicker(every)
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case now := <-ticker.C:
				report(now)
			case <-done:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(done)
		running.Wait()
	}
}
