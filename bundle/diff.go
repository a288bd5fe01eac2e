package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
)

// Change is one value in which two bundles differ; an absent value is empty.
type Change struct {
	// Field as in the JSON form of the message: "workload.arguments[2]", or the path of a file.
	Field string `json:"field"`
	A     string `json:"a"`
	B     string `json:"b"`
}

// StackChange is a stack that differs.
type StackChange struct {
	// Side is the source of the stack: "gst", "asgct" or "shadow".
	Side string `json:"side"`
	// Text shows both aligned, the differing lines marked.
	Text string `json:"text"`
	// A and B are the two.
	A *misstepv1.Trace `json:"-"`
	B *misstepv1.Trace `json:"-"`
}

// Difference is the result of Diff; what is equal in both is omitted.
type Difference struct {
	// Finding: id, signature, title, known bug.
	Finding []Change `json:"finding"`
	// Recipe without the JDK.
	Recipe []Change `json:"recipe"`
	// Jdks that showed it, keyed by digest.
	Jdks []Change `json:"jdks"`
	// Rates: measured reliability, and hits of trials by JDK, workload and flag set.
	Rates []Change `json:"rates"`
	// Stacks of the mismatch that each README shows, and crashes' frames.
	Stacks []StackChange `json:"stacks"`
	// Files by digest, without those that repeat the above.
	Files []Change `json:"files"`
}

// Equal reports whether nothing differs.
func (d Difference) Equal() bool {
	return len(d.Finding)+len(d.Recipe)+len(d.Jdks)+len(d.Rates)+len(d.Stacks)+len(d.Files) == 0
}

// Diff compares the contents of two bundles.
func Diff(a, b *Bundle) (Difference, error) {
	d, err := compare(a.Reproducer(), b.Reproducer())
	d.Files = changes(fileValues(a), fileValues(b))
	return d, err
}

// Compare compares two findings and the recipes of their examples, as far as that needs no bundles: Files and what was measured
// while they were reproduced are omitted.
func Compare(a, b *misstepv1.Finding) (Difference, error) {
	return compare(&misstepv1.Reproducer{Finding: a, Recipe: a.GetExampleRecipe()},
		&misstepv1.Reproducer{Finding: b, Recipe: b.GetExampleRecipe()})
}

func compare(a, b *misstepv1.Reproducer) (Difference, error) {
	d := Difference{
		Jdks: changes(jdkValues(a), jdkValues(b)), Rates: changes(rateValues(a), rateValues(b)), Stacks: stackChanges(a, b),
	}
	var err error
	if d.Finding, err = messageChanges(identity(a.GetFinding()), identity(b.GetFinding())); err != nil {
		return Difference{}, err
	}
	d.Recipe, err = messageChanges(withoutJdk(a.GetRecipe()), withoutJdk(b.GetRecipe()))
	return d, err
}

func identity(f *misstepv1.Finding) *misstepv1.Finding {
	return &misstepv1.Finding{Id: f.GetId(), Signature: f.GetSignature(), Title: f.GetTitle(), KnownAs: f.GetKnownAs()}
}

func withoutJdk(r *misstepv1.Recipe) *misstepv1.Recipe {
	if r = proto.CloneOf(r); r != nil {
		r.Jdk = nil
	}
	return r
}

func jdkValues(r *misstepv1.Reproducer) map[string]string {
	values := map[string]string{}
	for _, j := range append([]*misstepv1.Jdk{r.GetRecipe().GetJdk()}, r.GetOtherJdks()...) {
		key := j.GetDigest()
		if key == "" {
			key = j.GetName()
		}
		values[key] = strings.TrimSpace(j.GetName() + " " + j.GetVersion())
	}
	return values
}

func rateValues(r *misstepv1.Reproducer) map[string]string {
	values := map[string]string{}
	rateText := func(hits, tries uint64, low, high float64) string {
		return fmt.Sprintf("%d of %d (%.3f–%.3f)", hits, tries, low, high)
	}
	if m := r.GetReliability(); m.GetTries() > 0 {
		values["measured"] = rateText(uint64(m.GetHits()), uint64(m.GetTries()), m.GetLow(), m.GetHigh())
	}
	for _, rate := range r.GetFinding().GetRates() {
		key := strings.Join([]string{rate.GetJdk(), rate.GetWorkload(), rate.GetFlagSet()}, ", ")
		values[key] = rateText(rate.GetHits(), rate.GetTrials(), rate.GetLow(), rate.GetHigh())
	}
	return values
}

// fileValues omits the files that are generated from the reproducer.
func fileValues(b *Bundle) map[string]string {
	values := map[string]string{}
	for _, f := range b.Files() {
		switch f.Path {
		case nameFormat, nameReadme, Report, nameReproducer, nameRecipe:
		default:
			values[f.Path] = f.Digest.String()
		}
	}
	return values
}

func stackChanges(a, b *misstepv1.Reproducer) []StackChange {
	ea, eb := a.GetFinding().GetExample(), b.GetFinding().GetExample()
	ma, mb := chooseMismatch(ea, ExpectOf(a.GetFinding())), chooseMismatch(eb, ExpectOf(b.GetFinding()))
	pairs := [][2]*misstepv1.Trace{
		{ma.GetReference(), mb.GetReference()},
		{ma.GetSuspect(), mb.GetSuspect()},
		{crashTrace(ea.GetCrash()), crashTrace(eb.GetCrash())},
	}
	equal := func(x, y *misstepv1.Frame) bool { return frameText(x, true) == frameText(y, true) }
	var all []StackChange
	for _, p := range pairs {
		if slices.EqualFunc(p[0].GetFrames(), p[1].GetFrames(), equal) {
			continue
		}
		side := p[0].GetSource()
		if side == "" {
			side = p[1].GetSource()
		}
		all = append(all, StackChange{Side: side, Text: sideBySide(p[0], p[1]), A: p[0], B: p[1]})
	}
	return all
}

func crashTrace(c *misstepv1.Crash) *misstepv1.Trace {
	t := &misstepv1.Trace{Source: "crash"}
	for _, line := range c.GetNativeFrames() {
		t.Frames = append(t.Frames, &misstepv1.Frame{Method: line})
	}
	return t
}

func messageChanges(a, b proto.Message) ([]Change, error) {
	va, err := flatten(a)
	if err != nil {
		return nil, err
	}
	vb, err := flatten(b)
	if err != nil {
		return nil, err
	}
	return changes(va, vb), nil
}

func changes(a, b map[string]string) []Change {
	all := maps.Clone(a)
	maps.Copy(all, b)
	changes := []Change{}
	for _, field := range slices.Sorted(maps.Keys(all)) {
		if a[field] != b[field] {
			changes = append(changes, Change{Field: field, A: a[field], B: b[field]})
		}
	}
	return changes
}

// flatten returns each scalar of a message's canonical JSON, keyed by its path.
func flatten(m proto.Message) (map[string]string, error) {
	text, err := misstepv1.Canonical(m)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("read canonical JSON: %w", err)
	}
	flat := map[string]string{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for key, inner := range value {
				walk(strings.TrimPrefix(path+"."+key, "."), inner)
			}
		case []any:
			for i, inner := range value {
				walk(path+"["+strconv.Itoa(i)+"]", inner)
			}
		default:
			flat[path] = fmt.Sprint(value)
		}
	}
	walk("", value)
	return flat, nil
}
