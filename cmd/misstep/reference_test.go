package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"misstep/app/jfrcheck"
	"misstep/internal/reference"
	misstepv1 "misstep/proto/misstep/v1"
)

// model is the command line as kong sees it.
func model(t *testing.T) *kong.Application { return parser(t).Model }

func TestReferenceOfTheCommandLine(t *testing.T) {
	reference.Hold(t, "../..", "cli.md", reference.Commands(model(t)))
}

// jsonValues says what --json of each command prints; types are messages of proto/misstep/v1 or described in place.
var jsonValues = []struct{ command, value string }{
	{"access list", "list of [AccessGrant](#accessgrant)"},
	{"agent options", "`[{key, values, default, recipe, meaning}]`"},
	{"audit", "list of [AuditEntry](#auditentry)"},
	{"bundle diff", "`{finding, recipe, jdks, rates, files: [{field, a, b}], stacks: [{side, text}]}`"},
	{"campaign list", "list of [CampaignStatus](#campaignstatus)"},
	{"campaign presets", "`[{name, does, jdks: {name: JdkPreset}}]`"},
	{"campaign schedule", "[Schedule](#schedule)"},
	{"campaign show", "[CampaignStatus](#campaignstatus)"},
	{"campaign stop", "[CampaignStatus](#campaignstatus)"},
	{"campaign submit", "`{campaign_id}`"},
	{"campaign trials", "list of [Trial](#trial)"},
	{"check", "on stderr, `{command, pid, jdk: {home, feature, version}, exit_code, signal, stopped, wall, cpu, max_rss, max_rss_bound, " +
		"instrumented, failed, outcome, reason, checks, profiles, compared, bugs, bounds, jvms, bundles, phases, notes}`: times in nanoseconds; `checks` of `{check, total, match, mismatch, tolerated, unwalkable, void}`, `profiles` of `{check, walker, samples, " +
		"wrong, cut_off, lost}`, `bugs` of `{id, known, title, findings, checks, kinds, count, wrong, cut_off}`, `bundles` of `{finding, bug, file, bytes}`, `bounds` of `{name, walker, check, limit, count, samples, low, high, state}`, `phases` of `{name, time}`; shares from 0 to 1"},
	{"checks", "`{checks, rules, reasons, kinds, codes}`, and the counts when they were asked for"},
	{"compare", "`{campaign, builds: [{jdk, version, digest, profiler, profilers}], started, elapsed, pairs, unfinished, failed, void, why_void, recipes, " +
		"left_out, options: {margin, level, pair_time}, bugs, walkers, trials, tested, overall, dir}`: times in nanoseconds; `bugs`, `walkers` and `trials` of " +
		"`{of, what, walker, title, known, pairs, shares, trials, ratio, low, high, p, adjusted, verdict, needed, time, bound}`; two values are those before and after"},
	{"corpus gc", "`{kept, spared, removed, bytes, deleted}`"},
	{"corpus list", "`[{finding, bundle, size, signature}]`"},
	{"corpus pull", "`{sent, present, refused: {bundle: reason}, blobs, bytes}`"},
	{"corpus push", "`{sent, present, refused: {bundle: reason}, blobs, bytes}`"},
	{"doctor", "`[{name, state, detail, remedy}]`"},
	{"findings audit", "`{trials, without_evidence, records, signatures, missing, unrecorded, damaged, left_out}`, " +
		"`missing` of `{id, signature, title, trial, count}`, `unrecorded` mismatches by check"},
	{"findings decisions", "list of [TriageDecision](#triagedecision)"},
	{"findings explain", "`{id, title, signature: [kind, part, …], rule, reason, facts: [{name, value}]}`"},
	{"findings list", "list of [Finding](#finding); with `--by bug`, list of [Bug](#bug)"},
	{"findings show", "[Finding](#finding)"},
	{"fleet status", "`{coordinators, jobs: [{id, state, package, wanted, running, deployment, allocations: [{id, node, state, version, since, last}]}]}`"},
	{"hunt", "`{campaign: CampaignStatus, findings: [Finding], bugs: [Bug], bundles: {finding id: path}, audit, dir}`, " +
		"`audit` as `findings audit` prints it"},
	{"jdk add", "the catalogue's entry; with `--coordinator`, `[{entry: CatalogueEntry, existing, campaign_ids}]`"},
	{"jdk list", "list of the catalogue's entries; with `--coordinator`, list of [CatalogueEntry](#catalogueentry)"},
	{"jdk show", "the catalogue's entry"},
	{"jfr check", "`{recordings, checks, faults, doubts, samplers, threads, methods, notes, samples, touched, class, verdict}`; class is samples, " +
		"events or bookkeeping, verdict right, touched, unjudged or unproved: `recordings` of `{file, form, bytes, chunks, events, begin, end, " +
		"jvm, writers, profiler, lost_bytes, problems: [{chunk, offset, message}], read_bytes, missing_bytes, damage: {kind, what, lost}, salvaged, " +
		"incomplete}`; `checks` of `{name, what, unit, skipped, right, wrong, tolerated, void}`; " +
		"`faults` and `doubts` of `{check, kind, place, count, touches, samples, events, sampler, profiler, detail, known, stack}`; `methods` of `{name, samples, empty, " +
		"failed, truncated, lost, unknown, biased}`, `threads` of the same and `{median_ns, p90_ns}`, `samplers` of that with `event` for the name and `asked`"},
	{"jfr diff", "`{a, b, level, compared, changes, stacks, left_out, notes}`: `a` and `b` of `{file, event, samples, empty, failed, truncated, lost, unknown, biased, " +
		"compared, blocks}`, `changes` and " +
		"`stacks` of `{kind, method, caller, a, b, samples_a, samples_b, low, high, p, q, stack}`"},
	{"known list", "list of [KnownBug](#knownbug)"},
	{"known show", "[KnownBug](#knownbug)"},
	{"outcome", "what `check` prints on stderr; of several JVMs with `jvms`, a list of the same for each, and their sum in all else"},
	{"pki list", "list of `{serial, kind, names, state, expires, revoked}`; state is valid, expired or revoked"},
	{"quickstart", "as `hunt` prints it"},
	{"quota list", "list of [QuotaUsage](#quotausage)"},
	{"replay", "`{bundle, finding, jdk, hits, tries, low, high, reproduced, others: {finding id or kind: count}, same_schedule}`; same_schedule only in virtual " +
		"time with the bundle's own seed"},
	{"reproduce list", "list of [ReproductionStatus](#reproductionstatus)"},
	{"reproduce show", "[ReproductionStatus](#reproductionstatus)"},
	{"reproduce start", "`{reproduction: ReproductionStatus, bundle}`"},
	{"retest", "`[{bundle, finding, known_as, jdk, version, digest, known_on, known_digest, known: {hits, tries}, now: {hits, tries}, low, high, " +
		"verdict: {state, p, needed}, time, error}]`"},
	{"run", "[Outcome](#outcome)"},
	{"runners list", "list of [RunnerStatus](#runnerstatus)"},
	{"sched explain", "`{header, end_ns, threads, decisions, lost, cut, has_runs, moment_ns, standstill_ns, silent, from_ns, to_ns, mattered, longest, waits}`"},
	{"sched places", "list of `{place, address, thread, comm, decision, elapsed_ns, held_ns, seen, of}`"},
	{"sched replay", "the scheduler's counters, on stderr"},
	{"sched run", "the scheduler's counters, on stderr"},
	{"sched strategies", "`[{name, doc, parameters: [{name, doc, unit, min, max, default, whole}]}]`"},
	{"schedule list", "list of [Schedule](#schedule)"},
	{"store backup", "`{blobs, copied, bytes, lost, catalogued, bucket}`"},
	{"store copy", "`[{table, rows, digest}]`"},
	{"store restore", "`{blobs, copied, bytes, lost, bucket}`"},
	{"store vacuum", "`{trials, evidence_bytes, entries, kept, spared, removed, bytes, deleted}`"},
	{"token create", "`{secret, token: Token}`"},
	{"token list", "list of [Token](#token)"},
	{"triage", "`[{file, kind, id, signature: [kind, part, …], known_as, explanation: {title, jvm, line, cut_id, ends_early, former_id, with, assorted, rule, reason, " +
		"facts: [{name, value}], known: [{id, title, link, versions, fixed_in, here}], near_known: [{id, title, link, versions, fixed_in, " +
		"reason}], named: [{id, title, link, versions, fixed_in}], next, finding: {id, title, known_as, hits}, nearest: [{id, score, reason, " +
		"title}]}}]`; one element for each different report in a file and for each deadlock of a thread dump, in the order of the " +
		"files; `cut_id` is the id of what is left of a cut report, whose `id` and `signature` are those of the " +
		"finding that completes it; `ends_early` says that a thread dump lacks its end; `former_id` is the id that earlier versions gave " +
		"to the report; `with` is the other file with a dump of the same JVM, from which the answer is as well, with `:` and the line if " +
		"it is in the same file; `known_as` is empty if which of several bugs it is depends on a version that the report lacks: `here` " +
		"is set of each; `near_known` are bugs " +
		"of the catalogue that are like what has no known bug, `named` those that the file names, `next` what to do next; `assorted` is why reports with the signature have no bug in common; `finding` and `nearest` are the store's"},
	{"whoami", "[WhoAmIResponse](#whoamiresponse)"},
	{"workload add", "list of the catalogue's entries; with `--coordinator`, `[{entry: CatalogueEntry, existing}]`"},
	{"workload list", "list of the catalogue's entries; with `--coordinator`, list of [CatalogueEntry](#catalogueentry)"},
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
	require.Equal(t, want, have, "jsonValues in this file says what --json of each command prints: give each a line, by name")
	schema, err := reference.Load("../../proto/misstep/v1")
	require.NoError(t, err)
	messages, enums, err := schema.Reachable("CampaignStatus", "Trial", "Finding", "Bug", "Outcome", "ReproductionStatus", "TriageDecision",
		"JdkPreset", "RunnerStatus", "CatalogueEntry", "Schedule", "AccessGrant", "AuditEntry", "Token", "WhoAmIResponse",
		"QuotaUsage")
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
	intro := "`--json` prints one JSON value on stdout; everything else goes to stderr. Messages are in protobuf's JSON mapping with the field names " +
		"of the .proto files, which are those below: integers of 64 bits are strings, durations look like `1.5s`, fields with their default value are left out."
	reference.Hold(t, "../..", "json.md", reference.Generated+"# JSON output\n\n"+reference.Paragraph(intro)+
		"\n\n| command | value |\n|---|---|\n"+rows.String()+reference.Page(reference.JSON, messages, enums, elsewhere))
}

// The page names the fields as the commands print them.
func TestReferenceNamesFieldsAsPrinted(t *testing.T) {
	schema, err := reference.Load("../../proto/misstep/v1")
	require.NoError(t, err)
	for _, m := range []proto.Message{
		&misstepv1.CampaignStatus{FindingIds: []string{"F1"}, TrialsPerSecond: 1},
		&misstepv1.Finding{KnownAs: "JDK-1", FormerIds: []string{"F0"}, FirstSeen: timestamppb.Now()},
		&misstepv1.Bug{Id: "F1", FindingIds: []string{"F1"}, FirstSeen: timestamppb.Now()},
		&misstepv1.Outcome{ExitCode: 1, MaxRssBytes: 1},
		&misstepv1.ReproductionStatus{FindingId: "F1"},
	} {
		name := string(m.ProtoReflect().Descriptor().Name())
		var documented []string
		for _, f := range schema.Messages[name].Fields {
			documented = append(documented, f.Name)
		}
		var whole, inside bytes.Buffer
		require.NoError(t, (&env{stdout: &whole}).json(m))
		require.NoError(t, (&env{stdout: &inside}).json(raws([]proto.Message{m})[0]))
		for _, text := range []*bytes.Buffer{&whole, &inside} {
			printed := map[string]any{}
			require.NoError(t, json.Unmarshal(text.Bytes(), &printed))
			require.NotEmpty(t, printed)
			for field := range printed {
				require.Contains(t, documented, field, name)
			}
		}
	}
}

// What is said of a command's JSON has each name that its types write.
func TestJSONOfRecordingsIsDescribed(t *testing.T) {
	for command, of := range map[string]any{"jfr check": jfrcheck.Report{}, "jfr diff": jfrcheck.Difference{}} {
		at := slices.IndexFunc(jsonValues, func(v struct{ command, value string }) bool { return v.command == command })
		require.GreaterOrEqual(t, at, 0)
		said := regexp.MustCompile(`\w+`).FindAllString(jsonValues[at].value, -1)
		for _, name := range jsonNames(reflect.TypeOf(of)) {
			require.Contains(t, said, name, command)
		}
	}
}

// jsonNames are those of a type's fields, and of their types'.
func jsonNames(of reflect.Type) (names []string) {
	switch {
	case of.Kind() == reflect.Slice:
		return jsonNames(of.Elem())
	case of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]():
		return nil
	}
	for f := range of.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
		if f.IsExported() {
			names = append(names, jsonNames(f.Type)...)
		}
	}
	return names
}
