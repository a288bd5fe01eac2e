package coordinator_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/coordinator"
	"misstep/coordinator/access"
	"misstep/coordinator/projects"
	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	"misstep/known"
	misstepv1 "misstep/proto/misstep/v1"
)

// The transcripts in testdata hold requests of runners and users with the responses, over a clock that only moves on command. After
// an intended change run go test ./coordinator -run Transcripts -rewrite and read the diff.
func TestTranscripts(t *testing.T) {
	onEveryStore(t, func(t *testing.T, open func(*testing.T) store.Store) {
		datadriven.Walk(t, "testdata", func(t *testing.T, file string) {
			s := open(t)
			defer func() { require.NoError(t, s.Close()) }()
			p := newPlay(s)
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string { return p.do(t, d) })
		})
	})
	// The same happens in another project.
	t.Run("project", func(t *testing.T) {
		datadriven.Walk(t, "testdata", func(t *testing.T, file string) {
			p := newPlay(memory.New())
			p.project = "p"
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string { return p.do(t, d) })
		})
	})
}

// counter is a source of ids that count.
type counter struct{ n uint64 }

func (c *counter) Read(p []byte) (int, error) {
	c.n++
	var raw [8]byte
	binary.BigEndian.PutUint64(raw[:], c.n)
	copy(p, raw[8-len(p):])
	return len(p), nil
}

// play holds the actors of one transcript. Campaigns go by their names and leases by L1, L2, … in the order seen.
type play struct {
	store     store.Store
	project   string
	server    *coordinator.Server
	now       time.Time
	ids       *counter
	campaigns map[string]string // name → id
	leases    map[string]string // alias → id
	aliases   map[string]string // id → alias
}

func newPlay(s store.Store) *play {
	p := &play{
		store: s, project: projects.Default, now: time.Unix(1_800_000_000, 0), ids: &counter{}, campaigns: map[string]string{},
		leases: map[string]string{}, aliases: map[string]string{},
	}
	p.restart()
	return p
}

// in returns the context of a call in the transcript's project.
func (p *play) in(t *testing.T) context.Context { return access.InProject(t.Context(), p.project) }

func (p *play) restart() {
	p.server = coordinator.New(coordinator.Config{
		Store: p.store, Clock: func() time.Time { return p.now }, Rand: p.ids, LeaseTime: time.Minute, SyncInterval: 2 *
			time.Second, Known: known.Default(),
	})
}

func args(d *datadriven.TestData, key string) []string {
	if a, ok := d.Arg(key); ok {
		return a.Vals
	}
	return nil
}

func digest(c string) string { return "sha256:" + strings.Repeat(c, 64) }

func (p *play) do(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var out string
	var err error
	switch d.Cmd {
	case "submit":
		out, err = p.submit(t, d)
	case "sync":
		out, err = p.sync(t, d)
	case "advance":
		var by time.Duration
		by, err = time.ParseDuration(d.CmdArgs[0].Key)
		p.now = p.now.Add(by)
	case "restart":
		p.restart()
	case "drain":
		p.server.Drain()
	case "status":
		out, err = p.status(t, d.CmdArgs[0].Key)
	case "stop":
		_, err = p.server.StopCampaign(p.in(t), &misstepv1.StopCampaignRequest{CampaignId: p.id(d.CmdArgs[0].Key)})
	case "budget":
		req := &misstepv1.SetBudgetRequest{CampaignId: p.id(d.CmdArgs[0].Key)}
		for _, text := range args(d, "trials") {
			req.Trials, err = strconv.ParseUint(text, 10, 64)
			require.NoError(t, err)
		}
		for _, text := range args(d, "time") {
			left, parseErr := time.ParseDuration(text)
			require.NoError(t, parseErr)
			req.TimeLeft = durationpb.New(left)
		}
		_, err = p.server.SetBudget(p.in(t), req)
	case "trials":
		out, err = p.trials(t, d)
	case "findings":
		out, err = p.findings(t)
	case "labels":
		out, err = p.labels(t)
	case "groups":
		out, err = p.groups(t)
	case "merge":
		_,
			err = p.server.MergeFindings(p.in(t),
			&misstepv1.MergeFindingsRequest{FindingId: d.CmdArgs[0].Key, IntoId: d.CmdArgs[1].Key, Reason: d.Input})
	case "split":
		_, err = p.server.SplitFinding(p.in(t), &misstepv1.SplitFindingRequest{FindingId: d.CmdArgs[0].Key})
	case "note":
		_, err = p.server.NoteFinding(p.in(t), &misstepv1.NoteFindingRequest{FindingId: d.CmdArgs[0].Key, Text: d.Input})
	case "undo":
		req := &misstepv1.UndoDecisionRequest{}
		d.MaybeScanArgs(t, "id", &req.DecisionId)
		_, err = p.server.UndoDecision(p.in(t), req)
	case "decisions":
		out, err = p.decisions(t)
	default:
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
	if err != nil {
		st := status.Convert(err)
		return fmt.Sprintf("%s: %s", st.Code(), st.Message())
	}
	return out
}

func (p *play) id(name string) string {
	if id, ok := p.campaigns[name]; ok {
		return id
	}
	return name
}

// submit NAME trials=N time=D jdks=(…) workloads=(…) agent=C seed=N checks=(…) perturb=(…) executor=E
func (p *play) submit(t *testing.T, d *datadriven.TestData) (string, error) {
	name := d.CmdArgs[0].Key
	c := &misstepv1.Campaign{Name: name, Jdks: args(d, "jdks"), Budget: &misstepv1.Budget{}}
	req := &misstepv1.SubmitCampaignRequest{Campaign: c}
	for _, ch := range args(d, "checks") {
		c.Checks = append(c.Checks, &misstepv1.Check{Name: ch})
	}
	if c.Checks == nil {
		c.Checks = []*misstepv1.Check{{Name: "gst-asgct"}}
	}
	d.MaybeScanArgs(t, "trials", &c.Budget.Trials)
	d.MaybeScanArgs(t, "seed", &c.Seed)
	d.MaybeScanArgs(t, "executor", &c.Executor)
	for _, strategy := range args(d, "perturb") {
		c.Perturb = append(c.Perturb, &misstepv1.Perturbation{Strategy: strategy})
	}
	if v := args(d, "time"); v != nil {
		by, err := time.ParseDuration(v[0])
		require.NoError(t, err)
		c.Budget.Time = durationpb.New(by)
	}
	for _, j := range c.Jdks {
		req.Jdks = append(req.Jdks,
			&misstepv1.Jdk{
				Name: j, Digest: digest("a"), Version: "OpenJDK 64-Bit Server VM (" + j + "+1) for linux-amd64 JRE (" + j + "+1)",
			})
	}
	for _, w := range args(d, "workloads") {
		c.Workloads = append(c.Workloads, &misstepv1.CampaignWorkload{Name: w})
		req.Workloads = append(req.Workloads, &misstepv1.Workload{Name: w, Digest: digest("b")})
	}
	if v := args(d, "agent"); v != nil {
		req.AgentDigest = digest(v[0])
	}
	resp, err := p.server.SubmitCampaign(p.in(t), req)
	if err != nil {
		return "", err
	}
	p.campaigns[name] = resp.GetCampaignId()
	return "", nil
}

// sync RUNNER slots=N free=N agent=C can=(…), then a line for each lease held: its alias, then running N | clean | clinit |
// crash | walk KIND | guarantee FRAME | void | fail MESSAGE | permanent MESSAGE | interrupted | broken.
func (p *play) sync(t *testing.T, d *datadriven.TestData) (string, error) {
	req := &misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{Id: d.CmdArgs[0].Key, Host: "h", Slots: 4}}
	d.MaybeScanArgs(t, "free", &req.FreeSlots)
	d.MaybeScanArgs(t, "slots", &req.Runner.Slots)
	if v := args(d, "agent"); v != nil {
		req.Runner.AgentDigest = digest(v[0])
	}
	req.Runner.Capabilities = args(d, "can")
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		alias, what, rest := f[0], f[1], strings.Join(f[2:], " ")
		id, ok := p.leases[alias]
		if !ok {
			id = alias
		}
		req.Held = append(req.Held, held(id, what, rest))
	}
	resp, err := p.server.Synchronize(p.in(t), req)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, l := range resp.GetDesired() {
		alias, ok := p.aliases[l.GetId()]
		if !ok {
			alias = fmt.Sprintf("L%d", len(p.aliases)+1)
			p.aliases[l.GetId()], p.leases[alias] = alias, l.GetId()
		}
		fmt.Fprintf(&b, "%s %s on %s for %v", alias, l.GetRecipe().GetWorkload().GetName(), l.GetRecipe().GetJdk().GetName(),
			l.GetDeadline().AsTime().Sub(p.now))
		if perturb := l.GetRecipe().GetPerturbation(); perturb != nil {
			b.WriteString(" under " + perturb.GetStrategy())
		}
		b.WriteString("\n")
	}
	if resp.GetDrain() {
		b.WriteString("drain\n")
	}
	if b.Len() == 0 {
		return "nothing\n", nil
	}
	return b.String(), nil
}

func held(id, what, rest string) *misstepv1.HeldLease {
	h := &misstepv1.HeldLease{LeaseId: id}
	outcome := func(o *misstepv1.Outcome) { h.State = &misstepv1.HeldLease_Outcome{Outcome: o} }
	failure := func(f *misstepv1.InfrastructureFailure) { h.State = &misstepv1.HeldLease_Failure{Failure: f} }
	count := func(n uint64) []*misstepv1.CheckCount {
		return []*misstepv1.CheckCount{{Check: "gst-asgct", Total: n, Match: n}}
	}
	switch what {
	case "running":
		var n uint64
		_, _ = fmt.Sscan(rest, &n)
		h.State = &misstepv1.HeldLease_Running{Running: &misstepv1.Progress{Phase: "run", Checks: count(n)}}
	case "clean":
		outcome(&misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CLEAN, Checks: count(100)})
	case "void":
		outcome(&misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_VOID, Checks: count(0)})
	case "load":
		outcome(&misstepv1.Outcome{
			Kind: misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES, Checks: count(100),
			Mismatches: []*misstepv1.Mismatch{upcall(rest, "loadClass")},
		})
	case "both":
		outcome(&misstepv1.Outcome{
			Kind: misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES, Checks: count(100),
			Mismatches: []*misstepv1.Mismatch{truncatedAt(rest), upcall(rest, "loadClass")},
		})
	case "clinit":
		outcome(&misstepv1.Outcome{
			Kind: misstepv1.OutcomeKind_OUTCOME_KIND_MISMATCHES, Checks: count(100),
			Mismatches: []*misstepv1.Mismatch{truncatedAt(rest)},
		})
	case "crash":
		outcome(&misstepv1.Outcome{
			Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CRASH,
			Crash: &misstepv1.Crash{
				Error: "SIGSEGV (0xb)", ProblematicFrame: "# V  [libjvm.so+0x1234]  frame::sender(RegisterMap*) const+0x4c",
			},
		})
	case "walk": // the crash above with the rest of its report: in an AsyncGetCallTrace of a thread of this kind
		frame := "V  [libjvm.so+0x1234]  frame::sender(RegisterMap*) const+0x4c"
		outcome(&misstepv1.Outcome{
			Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CRASH,
			Crash: &misstepv1.Crash{
				Error: "SIGSEGV (0xb)", ProblematicFrame: frame, Thread: rest + ` "x"`, VmOperation: "none",
				NativeFrames: []string{frame, "V  [libjvm.so+0x5678]  AsyncGetCallTrace+0x1a5"},
			},
		})
	case "guarantee": // JDK-8339133 on 8, JDK-8352649 on 11 and 17
		outcome(&misstepv1.Outcome{Kind: misstepv1.OutcomeKind_OUTCOME_KIND_CRASH, Crash: &misstepv1.Crash{
			Error:            "Internal Error (codeCache.cpp:654), pid=1, tid=2",
			Detail:           "guarantee(is_result_safe || is_in_asgct()) failed: unsafe access to zombie method",
			ProblematicFrame: "V  [libjvm.so+0x1234]  " + rest + "+0x4c",
		}})
	case "broken":
		outcome(&misstepv1.Outcome{})
	case "fail":
		failure(&misstepv1.InfrastructureFailure{Message: rest})
	case "permanent":
		failure(&misstepv1.InfrastructureFailure{Message: rest, Permanent: true})
	case "interrupted":
		failure(&misstepv1.InfrastructureFailure{Message: "the runner stops", Interrupted: true})
	}
	return h
}

// upcall is the same under another method that the VM calls.
func upcall(class, method string) *misstepv1.Mismatch {
	m := truncatedAt(class)
	m.Reference.Frames[1].Method, m.Reference.Frames[1].Descriptor_ = method, "(Ljava/lang/String;)Ljava/lang/Class;"
	return m
}

// truncatedAt is JDK-8303444 as the agent reports it, under a class initialiser of the class so called.
func truncatedAt(class string) *misstepv1.Mismatch {
	if class == "" {
		class = "a.Holder"
	}
	frame := func(c, m string, bci int32) *misstepv1.Frame {
		return &misstepv1.Frame{ClassName: c, Method: m, Descriptor_: "()V", Bci: bci}
	}
	ref := []*misstepv1.Frame{
		frame("a.Util", "work", 3), frame(class, "<clinit>", 0), frame("a.Main", "run", 12), frame("a.Main", "main", 4),
	}
	return &misstepv1.Mismatch{
		Check: "gst-asgct", Kind: "truncated", Count: 2,
		Reference: &misstepv1.Trace{Source: "gst", Frames: ref, NumFrames: 4},
		Suspect:   &misstepv1.Trace{Source: "asgct", Frames: ref[:2], NumFrames: 2},
	}
}

// status shows a campaign after the coordinator's tick, as a query a second later would.
func (p *play) status(t *testing.T, name string) (string, error) {
	if err := p.server.Tick(p.in(t)); err != nil {
		return "", err
	}
	resp, err := p.server.GetCampaign(p.in(t), &misstepv1.GetCampaignRequest{CampaignId: p.id(name)})
	if err != nil {
		return "", err
	}
	c := resp.GetCampaign()
	var b strings.Builder
	fmt.Fprintf(&b, "%s queued=%d running=%d", strings.ToLower(strings.TrimPrefix(c.GetState().String(), "CAMPAIGN_STATE_")),
		c.GetQueued(), c.GetRunning())
	var kinds []string
	for k, n := range c.GetOutcomes() {
		kinds = append(kinds, fmt.Sprintf(" %s=%d", k, n))
	}
	slices.Sort(kinds)
	b.WriteString(strings.Join(kinds, ""))
	for _, f := range []struct {
		name string
		n    uint64
	}{
		{"failed", c.GetFailed()},
		{"retries", c.GetRetries()},
		{"cancelled", c.GetCancelled()},
		{"findings", uint64(len(c.GetFindingIds()))},
	} {
		if f.n > 0 {
			fmt.Fprintf(&b, " %s=%d", f.name, f.n)
		}
	}
	for need, n := range c.GetUnplaced() { // one campaign has one here
		fmt.Fprintf(&b, " no-%s=%d", need, n)
	}
	for _, ch := range c.GetChecks() {
		fmt.Fprintf(&b, " %s:%d", ch.GetCheck(), ch.GetTotal())
	}
	if c.GetEnded() != nil {
		fmt.Fprintf(&b, " after %v", c.GetEnded().AsTime().Sub(c.GetSubmitted().AsTime()))
	}
	return b.String() + "\n", nil
}

// trials NAME size=N prints page by page.
func (p *play) trials(t *testing.T, d *datadriven.TestData) (string, error) {
	req := &misstepv1.ListTrialsRequest{CampaignId: p.id(d.CmdArgs[0].Key)}
	d.MaybeScanArgs(t, "size", &req.PageSize)
	var b strings.Builder
	for {
		resp, err := p.server.ListTrials(p.in(t), req)
		if err != nil {
			return "", err
		}
		for _, tr := range resp.GetTrials() {
			fmt.Fprintf(&b, "%d %s on %s: ", tr.GetId(), tr.GetRecipe().GetWorkload().GetName(), tr.GetRecipe().GetJdk().GetName())
			if f := tr.GetFailure(); f != nil {
				fmt.Fprintf(&b, "failed: %s\n", f.GetMessage())
			} else {
				fmt.Fprintf(&b, "%s, %d findings\n", strings.TrimPrefix(tr.GetOutcome().GetKind().String(), "OUTCOME_KIND_"),
					len(tr.GetFindingIds()))
			}
		}
		if req.PageToken = resp.GetNextPageToken(); req.PageToken == "" {
			return b.String(), nil
		}
		b.WriteString("-- page\n")
	}
}

func (p *play) findings(t *testing.T) (string, error) {
	resp, err := p.server.ListFindings(p.in(t), &misstepv1.ListFindingsRequest{})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, f := range resp.GetFindings() {
		fmt.Fprintf(&b, "%s %s [%s]\n  %d hits in %d campaigns: %s\n", f.GetId(), strings.Join(f.GetSignature().GetParts(), " | "),
			f.GetKnownAs(), f.GetHits(), len(f.GetCampaigns()), f.GetTitle())
		for _, r := range f.GetRates() {
			fmt.Fprintf(&b, "  %s %s%s: %d of %d, %.2f to %.2f\n", r.GetJdk(), r.GetWorkload(), r.GetFlagSet(), r.GetHits(),
				r.GetTrials(), r.GetLow(), r.GetHigh())
		}
		whole, err := p.server.GetFinding(p.in(t), &misstepv1.GetFindingRequest{FindingId: f.GetId()[:6]})
		if err != nil {
			return "", err
		}
		for _, m := range whole.GetFinding().GetExample().GetMismatches() {
			fmt.Fprintf(&b, "  example: %d and %d frames on %s\n", len(m.GetReference().GetFrames()),
				len(m.GetSuspect().GetFrames()), whole.GetFinding().GetExampleRecipe().GetJdk().GetName())
		}
	}
	return b.String(), nil
}

// labels prints which known bugs findings are, in machine-readable and in readable form.
func (p *play) labels(t *testing.T) (string, error) {
	resp, err := p.server.ListFindings(p.in(t), &misstepv1.ListFindingsRequest{})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, f := range resp.GetFindings() {
		fmt.Fprintf(&b, "%s %s: %q, %s\n", f.GetId(), f.GetSignature().GetParts()[1], f.GetKnownAs(), misstepv1.KnownText(f))
		whole, err := p.server.GetFinding(p.in(t), &misstepv1.GetFindingRequest{FindingId: f.GetId()})
		if err != nil {
			return "", err
		}
		if w := whole.GetFinding(); w.GetKnownAs() != f.GetKnownAs() || misstepv1.KnownText(w) != misstepv1.KnownText(f) {
			fmt.Fprintf(&b, "  but by itself: %q, %s\n", w.GetKnownAs(), misstepv1.KnownText(w))
		}
	}
	return b.String(), nil
}

// groups prints findings briefly: their aliases, what they may be the same as, and their factors.
func (p *play) groups(t *testing.T) (string, error) {
	resp, err := p.server.ListFindings(p.in(t), &misstepv1.ListFindingsRequest{})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, f := range resp.GetFindings() {
		fmt.Fprintf(&b, "%s %s: %d hits", f.GetId(), f.GetSignature().GetParts()[2], f.GetHits())
		for _, list := range []struct {
			what string
			ids  []string
		}{{"aliases", f.GetAliases()}, {"fits", f.GetFits()}} {
			if len(list.ids) > 0 {
				fmt.Fprintf(&b, ", %s %s", list.what, strings.Join(list.ids, " "))
			}
		}
		b.WriteString("\n")
		for _, x := range f.GetFactors() {
			fmt.Fprintf(&b, "  %s %s: %d of %d (%+d)\n", x.GetDimension(), x.GetValue(), x.GetHits(), x.GetTrials(), x.GetEffect())
		}
		whole, err := p.server.GetFinding(p.in(t), &misstepv1.GetFindingRequest{FindingId: f.GetId()})
		if err != nil {
			return "", err
		}
		for _, n := range whole.GetFinding().GetNearest() {
			fmt.Fprintf(&b, "  near %s %.2f: %s\n", n.GetId(), n.GetScore(), n.GetReason())
		}
	}
	return b.String(), nil
}

func (p *play) decisions(t *testing.T) (string, error) {
	resp, err := p.server.ListDecisions(p.in(t), &misstepv1.ListDecisionsRequest{})
	var b strings.Builder
	for _, d := range resp.GetDecisions() {
		fmt.Fprintf(&b, "%d %s %s into %s at %v, undone %v: %s\n", d.GetId(), d.GetKind(), d.GetFinding(), d.GetInto(),
			d.GetMade().AsTime().Format(time.TimeOnly), d.GetUndone() != nil, d.GetReason())
	}
	return b.String(), err
}
