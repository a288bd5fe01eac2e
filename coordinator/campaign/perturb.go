package campaign

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"misstep/internal/splitmix"
	"misstep/internal/suggest"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/recipe"
)

// Strategy of perturbation, as its mechanisms describe it.
type Strategy struct {
	Name       string
	Parameters []Parameter
}

// Parameter of a strategy with its bounds.
type Parameter struct {
	Name, Unit        string
	Min, Max, Default float64
	// Whole is true when only integers are allowed.
	Whole bool
}

func (p Parameter) bounds() string {
	return strings.TrimSpace(fmt.Sprintf("[%s, %s] %s", number(p.Min), number(p.Max), p.Unit))
}

func number(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// mechanisms by which a perturbation may be carried out; "" is the first.
var mechanisms = []string{misstepv1.MechanismScheduler, misstepv1.MechanismAgent}

// alternatives returns the perturbations of a campaign, one for each seed; nil stands for no perturbation.
func alternatives(list []*misstepv1.Perturbation) []*misstepv1.Perturbation {
	var out []*misstepv1.Perturbation
	for _, p := range list {
		unseeded := proto.CloneOf(p)
		unseeded.Seeds = nil
		for _, seed := range p.GetSeeds() {
			one := proto.CloneOf(unseeded)
			one.Seed = seed
			out = append(out, one)
		}
		if len(p.GetSeeds()) == 0 {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		out = append(out, nil)
	}
	return out
}

// concrete returns an alternative as a recipe with this seed has it: with a seed, and with values in place of ranges.
func concrete(p *misstepv1.Perturbation, seed uint64) *misstepv1.Perturbation {
	if p == nil || p.GetStrategy() == misstepv1.StrategyNone {
		return proto.CloneOf(p)
	}
	out := &misstepv1.Perturbation{
		Strategy: p.GetStrategy(), Seed: p.GetSeed(), Mechanism: p.GetMechanism(), Parameters: map[string]float64{},
	}
	if out.Seed == 0 {
		out.Seed = seed
	}
	maps.Copy(out.Parameters, p.GetParameters())
	for i, name := range sortedKeys(p.GetRanges()) {
		out.Parameters[name] = within(p.GetRanges()[name], splitmix.Draw(seed, streamRange, uint64(i)))
	}
	return out
}

// logarithmicAbove is the ratio of a range's bounds above which values are drawn logarithmically: drawn uniformly, most of the
// values between 1 and 100,000 would be above 10,000.
const logarithmicAbove = 10

// within converts 64 random bits to a value in a range. It has six significant digits, so that recipes are readable.
func within(r *misstepv1.ParameterRange, bits uint64) float64 {
	low, high := r.GetMin(), r.GetMax()
	x := float64(bits>>11) / (1 << 53) // in [0, 1)
	var value float64
	switch {
	case low > 0 && high > logarithmicAbove*low:
		value = low * math.Exp(x*math.Log(high/low))
	case r.GetWhole():
		value = low + math.Floor(x*(high-low+1))
	default:
		value = low + x*(high-low)
	}
	if r.GetWhole() {
		value = math.Round(value)
	} else if short, err := strconv.ParseFloat(strconv.FormatFloat(value, 'g', 6, 64), 64); err == nil {
		value = short
	}
	return min(max(value, low), high)
}

// perturb checks what can be checked without knowing the strategies.
func (v *validator) perturb(c *misstepv1.Campaign) {
	if e := c.GetExecutor(); e != "" && !slices.Contains(recipe.Executors(), e) {
		v.Addf("executor", "unknown executor %s%s", suggest.Quote(e), suggest.Among(e, recipe.Executors()))
	}
	if !v.Count("perturb", len(c.GetPerturb())) {
		return
	}
	for i, p := range c.GetPerturb() {
		at := fmt.Sprintf("perturb[%d]", i)
		if p.GetStrategy() == "" {
			v.Addf(at+".strategy", "is required: none, or a perturbation strategy")
		} else if !strategyRE.MatchString(p.GetStrategy()) {
			v.Addf(at+".strategy", "expected a name of lowercase letters, digits and dashes, got %s",
				suggest.Quote(p.GetStrategy()))
		}
		if m := p.GetMechanism(); m != "" && !slices.Contains(mechanisms, m) {
			v.Addf(at+".mechanism", "unknown mechanism %s%s", suggest.Quote(m), suggest.Among(m, mechanisms))
		}
		v.seeds(at, p)
		v.parameters(at, p)
	}
}

func (v *validator) seeds(at string, p *misstepv1.Perturbation) {
	if !v.Count(at+".seeds", len(p.GetSeeds())) {
		return
	}
	if p.GetSeed() != 0 && len(p.GetSeeds()) > 0 {
		v.Addf(at+".seeds", "expected seed or seeds, got both")
	}
	seen := map[uint64]bool{}
	for k, seed := range p.GetSeeds() {
		if seen[seed] || seed == 0 {
			v.Addf(fmt.Sprintf("%s.seeds[%d]", at, k),
				"expected distinct seeds other than 0, which stands for each recipe's own seed: got %d", seed)
		}
		seen[seed] = true
	}
}

func (v *validator) parameters(at string, p *misstepv1.Perturbation) {
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	if !v.Count(at+".parameters", len(p.GetParameters())) || !v.Count(at+".ranges", len(p.GetRanges())) {
		return
	}
	for _, k := range sortedKeys(p.GetParameters()) {
		if x := p.GetParameters()[k]; !finite(x) || len(k) > maxName {
			v.Addf(at+".parameters", "expected a finite number for %s, got %v", suggest.Quote(k), x)
		}
	}
	for _, k := range sortedKeys(p.GetRanges()) {
		r := p.GetRanges()[k]
		if !finite(r.GetMin()) || !finite(r.GetMax()) || r.GetMin() > r.GetMax() || len(k) > maxName {
			v.Addf(at+".ranges."+clip(k), "expected a finite min that is not above max, got %v and %v", r.GetMin(), r.GetMax())
		}
		if _, both := p.GetParameters()[k]; both {
			v.Addf(at+".ranges."+clip(k), "is also given as a number")
		}
	}
}

// strategies checks a campaign's perturbations against the known strategies, and notes which ranges are of integers.
func (v *validator) strategies(c *misstepv1.Campaign, have []Strategy) {
	var names []string
	for _, s := range have {
		names = append(names, s.Name)
	}
	for i, p := range c.GetPerturb() {
		at := fmt.Sprintf("perturb[%d]", i)
		k := slices.Index(names, p.GetStrategy())
		if k < 0 {
			v.Addf(at+".strategy", "unknown strategy %s%s; see `misstep sched strategies`",
				suggest.Quote(p.GetStrategy()), suggest.Among(p.GetStrategy(), names))
			continue
		}
		v.strategy(at, p, have[k])
	}
}

func (v *validator) strategy(at string, p *misstepv1.Perturbation, s Strategy) {
	find := func(field, name string) (Parameter, bool) {
		i := slices.IndexFunc(s.Parameters, func(x Parameter) bool { return x.Name == name })
		if i >= 0 {
			return s.Parameters[i], true
		}
		var names []string
		for _, x := range s.Parameters {
			names = append(names, x.Name)
		}
		v.Addf(at+"."+field+"."+clip(name), "strategy %s has no parameter %s%s", s.Name, suggest.Quote(name),
			suggest.Among(name, names))
		return Parameter{}, false
	}
	least, most := map[string]float64{}, map[string]float64{}
	for _, x := range s.Parameters {
		least[x.Name], most[x.Name] = x.Default, x.Default
	}
	for _, name := range sortedKeys(p.GetParameters()) {
		value := p.GetParameters()[name]
		x, ok := find("parameters", name)
		if !ok {
			continue
		}
		if value < x.Min || value > x.Max || x.Whole && value != math.Trunc(value) {
			v.Addf(at+".parameters."+name, "%s of strategy %s: expected %s in %s, got %s", name, s.Name, kindOf(x), x.bounds(),
				number(value))
		}
		least[name], most[name] = value, value
	}
	for _, name := range sortedKeys(p.GetRanges()) {
		r := p.GetRanges()[name]
		x, ok := find("ranges", name)
		if !ok {
			continue
		}
		if r.GetMin() < x.Min || r.GetMax() > x.Max || x.Whole &&
			(r.GetMin() != math.Trunc(r.GetMin()) || r.GetMax() != math.Trunc(r.GetMax())) {
			v.Addf(at+".ranges."+name, "%s of strategy %s: expected a range of %ss within %s, got [%s, %s]", name, s.Name,
				noun(x), x.bounds(), number(r.GetMin()), number(r.GetMax()))
		}
		r.Whole = x.Whole
		least[name], most[name] = r.GetMin(), r.GetMax()
	}
	if low, high := most["min_us"], least["max_us"]; low > high {
		v.Addf(at, "min_us of strategy %s may be %s, which is above a possible max_us of %s", s.Name, number(low),
			number(high))
	}
	if first, end := most[misstepv1.PerturbFrom], least[misstepv1.PerturbUntil]; end != 0 && first >= end {
		v.Addf(at, "from of strategy %s may be %s, which leaves no decision before a possible until of %s", s.Name,
			number(first), number(end))
	}
}

func noun(x Parameter) string {
	if x.Whole {
		return "integer"
	}
	return "number"
}

func kindOf(x Parameter) string {
	if x.Whole {
		return "an integer"
	}
	return "a number"
}
