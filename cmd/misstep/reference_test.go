package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"misstep/internal/reference"
)

// model is the command line as kong sees it.
func model(t *testing.T) *kong.Application { return parser(t).Model }

func TestReferenceOfTheCommandLine(t *testing.T) {
	reference.Hold(t, "../..", "cli.md", reference.Commands(model(t)))
}

// jsonValues says what --json of each command prints; types are messages of proto/misstep/v1 or described in place.
var jsonValues = []struct{ command, value string }{
	{"agent options", "`[{key, values, default, recipe, meaning}]`"},
	{"bundle diff", "`{finding, recipe, jdks, rates, files: [{field, a, b}], stacks: [{side, text}]}`"},
	{"campaign list", "list of [CampaignStatus](#campaignstatus)"},
	{"campaign presets", "`[{name, does, jdks: {name: JdkPreset}}]`"},
	{"campaign show", "[CampaignStatus](#campaignstatus)"},
	{"campaign submit", "`{campaign_id}`"},
	{"campaign trials", "list of [Trial](#trial)"},
	{"checks", "`{checks, rules, reasons, kinds, codes}`, and the counts when they were asked for"},
	{"corpus gc", "`{kept, spared, removed, bytes, deleted}`"},
	{"corpus list", "`[{finding, bundle, size, signature}]`"},
	{"corpus pull", "`{sent, present, refused: {bundle: reason}, blobs, bytes}`"},
	{"corpus push", "`{sent, present, refused: {bundle: reason}, blobs, bytes}`"},
	{"doctor", "`[{name, state, detail, remedy}]`"},
	{"findings decisions", "list of [TriageDecision](#triagedecision)"},
	{"findings explain", "`{id, title, signature: [kind, part, …], rule, reason, facts: [{name, value}]}`; rule and reason for " +
		"mismatches"},
	{"findings list", "list of [Finding](#finding)"},
	{"findings show", "[Finding](#finding)"},
	{"hunt", "`{campaign: CampaignStatus, findings: [Finding], bundles: {finding id: path}, dir}`"},
	{"jdk add", "the catalogue's entry"},
	{"jdk list", "list of the catalogue's entries"},
	{"jdk show", "the catalogue's entry"},
	{"replay", "`{bundle, finding, jdk, hits, tries, low, high, reproduced, others: {finding id or kind: count}}`"},
	{"reproduce list", "list of [Reproduction](#reproduction)"},
	{"reproduce show", "[Reproduction](#reproduction)"},
	{"reproduce start", "`{reproduction: Reproduction, bundle}`"},
	{"retest", "`[{bundle, finding, known_as, jdk, version, digest, known: {hits, tries}, now: {hits, tries}, low, high, " +
		"verdict: {state, p, needed}, time, error}]`"},
	{"run", "[Outcome](#outcome)"},
	{"sched places", "list of `{place, address, thread, comm, decision, elapsed_ns, held_ns, seen, of}`"},
	{"sched replay", "the scheduler's counters, on stderr"},
	{"sched run", "the scheduler's counters, on stderr"},
	{"sched strategies", "`[{name, doc, parameters: [{name, doc, unit, min, max, default, whole}]}]`"},
	{"workload add", "list of the catalogue's entries"},
	{"workload list", "list of the catalogue's entries"},
}

func TestReferenceOfJSON(t *testing.T) {
	var have, want []string
	for _, leaf := range model(t).Leaves(true) {
		if slices.ContainsFunc(leaf.Flags, func(f *kong.Flag) bool { return f.Name == "json" }) {
			have = append(have, strings.TrimPrefix(leaf.FullPath(), "misstep "))
		}
	}
	var rows strings.Builder
	for _, v := range jsonValues {
		want = append(want, v.command)
		fmt.Fprintf(&rows, "| `%s` | %s |\n", v.command, v.value)
	}
	slices.Sort(have)
	require.Equal(t, want, have, "commands that have --json, and those of which the table says what it prints")
	schema, err := reference.Load("../../proto/misstep/v1")
	require.NoError(t, err)
	messages, enums, err := schema.Reachable("CampaignStatus", "Trial", "Finding", "Outcome", "Reproduction", "TriageDecision",
		"JdkPreset")
	require.NoError(t, err)
	described, _, err := schema.Reachable("Recipe", "Campaign")
	require.NoError(t, err)
	elsewhere := map[string]string{}
	recipe, _, err := schema.Reachable("Recipe")
	require.NoError(t, err)
	for _, m := range described {
		elsewhere[m.Name] = "campaign.md"
	}
	for _, m := range recipe {
		elsewhere[m.Name] = "recipe.md"
	}
	messages = slices.DeleteFunc(messages, func(m reference.Message) bool { return elsewhere[m.Name] != "" })
	intro := "`--json` prints one JSON value on stdout; everything else goes to stderr. Messages are in protobuf's JSON mapping: field names are " +
		"those below, integers of 64 bits are strings, durations look like `1.5s`, fields with their default value are left out."
	reference.Hold(t, "../..", "json.md", reference.Generated+"# JSON output\n\n"+reference.Paragraph(intro)+
		"\n\n| command | value |\n|---|---|\n"+rows.String()+reference.Page(reference.JSON, messages, enums, elsewhere))
}
