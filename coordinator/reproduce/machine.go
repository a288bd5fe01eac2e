package reproduce

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"misstep/internal/interval"
	"misstep/internal/splitmix"
	misstepv1 "misstep/proto/misstep/v1"
)

// Result of one try.
type Result byte

// Results as a ReproductionArm writes them.
const (
	Hit       Result = 'h'
	Miss      Result = 'm'
	Void      Result = 'v' // proves nothing and does not count as a try
	Idle      Result = 'i' // completed with nothing to compare: a miss on this build, and no proof about another build
	Failed    Result = 'f' // given up by the queue
	cancelled Result = 'c' // time was over; later results of the arm do not count
	pending   Result = '.'
)

// Names of the steps.
const (
	StepConfirm  = "confirm"
	StepAmplify  = "amplify"
	StepMinimise = "minimise"
	StepBisect   = "bisect"
	StepVerify   = "verify"
)

// Defaults of a spec.
const (
	DefaultTrials = 20_000
	DefaultTime   = 24 * time.Hour
)

// Probe requests tries of a recipe.
type Probe struct {
	// Key of the arm.
	Key string
	// recipe has seed 0 when each try draws its own; see Recipe.
	recipe *misstepv1.Recipe
	seed   uint64
	// Have and Want are the tries that the arm has, and those that it is to have.
	Have, Want int
}

// Recipe returns the recipe of a try, counted from 0.
func (p Probe) Recipe(try int) *misstepv1.Recipe {
	r := proto.CloneOf(p.recipe)
	if r.GetSeed() == 0 {
		r.Seed = draw(p.seed, p.Key, uint64(try))
	}
	return r
}

// Plan is what follows from the results so far.
type Plan struct {
	// Probes to make; none when pending tries must end first, or when Done.
	Probes []Probe
	// Done is true when Reproducer or Failure is set.
	Done       bool
	Reproducer *misstepv1.Reproducer
	Failure    string
	// Steps so far, the last one under way unless Done.
	Steps []*misstepv1.ReproductionStep
	// Doing describes in one line what is probed.
	Doing string
	// Best is the recipe that amplifying arrived at, from which minimising starts; nil before amplifying is done.
	Best *misstepv1.Recipe
	// Recipe is the current recipe, with Hits and Tries of its last measurement.
	Recipe      *misstepv1.Recipe
	Hits, Tries int
	// Bisection as far as the tries so far say; nil before it begins.
	Bisection *misstepv1.Bisection
	// Left estimates the tries still to come.
	Left int
}

// machine runs the program over the results of one Reproduction.
type machine struct {
	r       *misstepv1.Reproduction
	arms    map[string]*misstepv1.ReproductionArm
	spent   int
	probes  []Probe
	waiting bool            // results are missing
	cut     bool            // the step under way needed tries beyond the budget
	counted map[string]bool // keys of the arms that are counted in a step
	plan    Plan
}

// Next returns what follows from the results in r, which is not changed.
func Next(r *misstepv1.Reproduction) Plan {
	m := &machine{r: r, arms: make(map[string]*misstepv1.ReproductionArm, len(r.GetArms())), counted: map[string]bool{}}
	for _, a := range r.GetArms() {
		m.arms[a.GetKey()] = a
		m.spent += len(a.GetResults())
	}
	if m.program() {
		m.plan.Done = true
		return m.plan
	}
	m.plan.Probes = m.probes
	return m.plan
}

// Apply records the result of a pending try of an arm. trouble is the reason why a try was void or failed.
func Apply(a *misstepv1.ReproductionArm, try int, result Result, wall time.Duration, trouble string) {
	results := []byte(a.GetResults())
	if try < 0 || try >= len(results) || results[try] != byte(pending) {
		return
	}
	results[try] = byte(result)
	a.Results = string(results)
	a.Wall = durationpb.New(a.GetWall().AsDuration() + wall)
	if trouble != "" {
		a.Trouble = trouble
	}
}

// AddPending records that the arm has one more try under way and returns its number, from 0.
func AddPending(a *misstepv1.ReproductionArm) (try int) {
	a.Results += string(rune(pending))
	return len(a.GetResults()) - 1
}

// CancelPending ends the tries that are under way without a result.
func CancelPending(r *misstepv1.Reproduction) {
	for _, a := range r.GetArms() {
		a.Results = strings.ReplaceAll(a.GetResults(), string(rune(pending)), string(rune(cancelled)))
	}
	r.Pending = nil
}

// arm is one recipe probed for one purpose, with the results that count so far.
type arm struct {
	key        string
	recipe     *misstepv1.Recipe
	results    []bool
	hits       int
	voids      int
	failed     bool
	hasPending bool // a result is pending
	exhausted  bool // no further tries are possible
	asked      int  // tries asked for so far, whatever their results
	trouble    string
	wall       time.Duration
}

// arm returns the arm of a recipe for a purpose within the step under way. Its key only has to be stable while this reproduction
// runs, so it may be derived from the binary form, which takes a fiftieth of the time of the canonical text; if another version of
// the library encodes it differently, tries are repeated.
func (m *machine) arm(purpose string, recipe *misstepv1.Recipe) *arm {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(recipe)
	if err != nil { // text that is not UTF-8, which no stored message holds
		panic(fmt.Sprintf("write a recipe: %v", err))
	}
	sum := sha256.Sum256(raw)
	a := &arm{key: m.step().GetName() + "/" + purpose + "/" + hex.EncodeToString(sum[:8]), recipe: recipe}
	stored := m.arms[a.key]
	a.trouble, a.wall, a.asked = stored.GetTrouble(), stored.GetWall().AsDuration(), len(stored.GetResults())
	for _, r := range []byte(stored.GetResults()) {
		result := Result(r)
		if result == Idle { // as void, a recipe that either hits or has nothing to compare would seem to hit every time
			result = Miss
			if m.step().GetName() == StepBisect {
				result = Void
			}
		}
		switch result {
		case Hit, Miss:
			a.results = append(a.results, result == Hit)
			if result == Hit {
				a.hits++
			}
			continue
		case Void:
			a.voids++
			continue
		case Failed:
			a.voids++
			a.failed = true
			continue
		case cancelled:
			a.exhausted = true
		default:
			a.hasPending = true
		}
		break
	}
	// A recipe whose trials are void again and again will never prove anything.
	const maxVoids = 4
	if a.voids >= maxVoids && a.voids > 2*len(a.results) || a.failed && len(a.results) == 0 {
		a.exhausted, a.hasPending = true, false
	}
	if !m.counted[a.key] && a.asked > 0 {
		m.counted[a.key] = true
		s := m.step()
		s.Probes++
		s.Tries += uint32(len(a.results)) // bounded by the budget
		s.Hits += uint32(a.hits)
	}
	return a
}

// rate estimates the arm's rate; it is never 0 or 1.
func (a *arm) rate() float64 {
	return (float64(a.hits) + 0.5) / (float64(len(a.results)) + 1)
}

// ask requests more tries of an arm. It returns false when none are possible: the arm or the budget is exhausted.
func (m *machine) ask(a *arm, more int) bool {
	if a.hasPending {
		m.waiting = true
		return true
	}
	if a.exhausted {
		return false
	}
	for _, p := range m.probes {
		if p.Key == a.key {
			return true
		}
	}
	limit := m.limit()
	if m.spent >= limit {
		m.cut = true
		return false
	}
	more = max(1, min(more, limit-m.spent))
	m.spent += more
	m.probes = append(m.probes,
		Probe{Key: a.key, recipe: a.recipe, seed: m.r.GetSpec().GetSeed(), Have: a.asked, Want: a.asked + more})
	m.waiting = true
	return true
}

// limit returns the tries up to which the step under way may spend: a tenth is kept for verifying.
func (m *machine) limit() int {
	trials := int(min(m.r.GetSpec().GetTrials(), math.MaxInt32))
	if trials == 0 {
		trials = DefaultTrials
	}
	switch {
	case m.r.GetTimeOver():
		return 0
	case m.step().GetName() == StepVerify:
		return trials
	case m.r.GetSearchOver():
		return 0
	}
	return trials - max(trials/10, min(10, trials/2))
}

// measure requests tries until the arm has that many hits and at least least tries, or most tries. It returns true when the arm has
// them, or when no more are possible.
func (m *machine) measure(a *arm, hits, least, most int) (ready bool) {
	n := len(a.results)
	if a.hasPending { // pending results count: without them, later results would change what was concluded
		m.waiting = true
		return false
	}
	if a.hits >= hits && n >= least || n >= most {
		return true
	}
	// Tries are requested in portions that grow with the number of tries so far.
	more := max(least-n, min(n/4, most-n))
	if a.hits < hits {
		more = max(more, hits-a.hits)
	}
	return !m.ask(a, more)
}

// begin begins a step.
func (m *machine) begin(name string) {
	m.cut = false
	m.plan.Steps = append(m.plan.Steps, &misstepv1.ReproductionStep{Name: name})
}

// end ends the step under way.
func (m *machine) end(rate float64, summary string) {
	s := m.step()
	s.Rate, s.Summary, s.Cut = rate, summary, m.cut
	if m.cut {
		s.Summary += "; cut short by the budget"
	}
}

func (m *machine) step() *misstepv1.ReproductionStep {
	if len(m.plan.Steps) == 0 {
		return nil
	}
	return m.plan.Steps[len(m.plan.Steps)-1]
}

// noteCurrent notes the current recipe and its last measurement.
func (m *machine) noteCurrent(a *arm) {
	m.plan.Recipe, m.plan.Hits, m.plan.Tries = a.recipe, a.hits, len(a.results)
}

// reliability returns hits of tries with their confidence interval.
func reliability(hits, tries int) *misstepv1.Reliability {
	l, h := interval.Wilson(uint64(hits), uint64(tries))
	return &misstepv1.Reliability{Hits: uint32(hits), Tries: uint32(tries), Low: l, High: h} // bounded by the budget
}

// meanWall returns the mean wall time of the tries of a step.
func (m *machine) meanWall(step string) time.Duration {
	var wall time.Duration
	n := 0
	for _, a := range m.r.GetArms() {
		if strings.HasPrefix(a.GetKey(), step+"/") {
			wall += a.GetWall().AsDuration()
			n += len(a.GetResults()) - strings.Count(a.GetResults(), string(rune(pending))) -
				strings.Count(a.GetResults(), string(rune(cancelled)))
		}
	}
	if n == 0 {
		return 0
	}
	return wall / time.Duration(n)
}

// draw returns a number of at least 1 that depends on the seed, the key and i, by FNV-1a and splitmix64.
func draw(seed uint64, key string, i uint64) uint64 {
	h := uint64(0xcbf29ce484222325)
	for _, b := range []byte(key) {
		h = (h ^ uint64(b)) * 0x100000001b3
	}
	return max(1, splitmix.Mix(splitmix.Mix(splitmix.Mix(seed)^h)^i))
}
