package campaign_test

import (
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/campaign"
	misstepv1 "misstep/proto/misstep/v1"
)

// Campaign files with their result: the canonical text of the campaign, or everything that is wrong; -rewrite updates them.
func TestLoad(t *testing.T) {
	datadriven.RunTest(t, "testdata/load.txt", func(t *testing.T, d *datadriven.TestData) string {
		doc, err := campaign.Parse([]byte(d.Input), "c.yaml")
		if err != nil {
			return err.Error() + "\n"
		}
		if d.HasArg("jdks") {
			if err := doc.Resolve(campaign.Names{
				JDKs: list(d, "jdks"), Workloads: list(d, "workloads"), Strategies: strategies,
			}); err != nil {
				return err.Error() + "\n"
			}
		}
		text, err := misstepv1.Canonical(doc.Campaign)
		require.NoError(t, err)
		return string(text)
	})
}

// strategies are two examples.
var strategies = []campaign.Strategy{
	{Name: "none"},
	{Name: "delay", Parameters: []campaign.Parameter{
		{Name: "probability", Max: 1, Default: 0.2},
		{Name: "min_us", Unit: "µs", Min: 1, Max: 2e6, Default: 100},
		{Name: "max_us", Unit: "µs", Min: 1, Max: 2e6, Default: 10000},
		{Name: "span", Min: 1, Max: 1e6, Default: 256, Whole: true},
	}},
}

func list(d *datadriven.TestData, key string) []string {
	a, _ := d.Arg(key)
	out := []string{}
	for _, v := range a.Vals {
		if v != "" {
			out = append(out, v)
		}
	}
	return out
}

func TestLoadTooLarge(t *testing.T) {
	_, err := campaign.Load([]byte(strings.Repeat("#", campaign.MaxFile+1)), "c.yaml")
	require.ErrorContains(t, err, "c.yaml:1: expected a file of at most")
}

func FuzzLoad(f *testing.F) {
	raw, err := os.ReadFile("testdata/load.txt")
	require.NoError(f, err)
	for part := range strings.SplitSeq(string(raw), "\nload") {
		body, _, _ := strings.Cut(part, "\n----")
		_, body, _ = strings.Cut(body, "\n")
		f.Add([]byte(body))
	}
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("? [x]\n: y"))
	f.Add([]byte("<<: {name: a}"))
	f.Add([]byte("name: !!binary aGVsbG8="))
	f.Fuzz(func(t *testing.T, file []byte) {
		c, err := campaign.Load(file, "c.yaml")
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if !strings.HasPrefix(line, "c.yaml:") {
					t.Fatalf("an error without its place: %q", err)
				}
			}
			return
		}
		// What was accepted is valid, can be written down and comes back the same.
		if v := campaign.Validate(c); len(v) > 0 {
			t.Fatalf("accepted although %v", v)
		}
		for _, in := range c.GetInstrumentation() {
			if in.GetRatio() == 0 && len(in.GetOnly()) == 0 {
				return // the canonical text leaves zeros out, and a file may not leave the ratio out
			}
		}
		text, err := misstepv1.Canonical(c)
		if err != nil {
			t.Fatal(err)
		}
		again, err := campaign.Load(text, "again.yaml")
		if err != nil {
			t.Fatalf("its own text is refused: %v\n%s", err, text)
		}
		if !proto.Equal(c, again) {
			t.Fatalf("came back as\n%v\nwas\n%v", again, c)
		}
	})
}

func TestLoadJSON(t *testing.T) {
	const inline = `{name: a, jdks: [17], workloads: [{name: w}], checks: [{name: liveness}], budget: {trials: 1}}`
	c, err := campaign.Load([]byte(inline), "c.yaml")
	require.NoError(t, err)
	assert.Empty(t, campaign.Validate(c), "JSON is YAML, too")
}
