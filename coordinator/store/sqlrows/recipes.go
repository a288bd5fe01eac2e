package sqlrows

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/proto"

	misstepv1 "misstep/proto/misstep/v1"
)

// The recipes of a campaign's combination differ in the seed and in what is drawn from it. The rest, their template, has a row of
// its own, under a part of its digest: what was run is kept word for word, whatever a later version would make of the campaign.

// splitRecipe returns a recipe's template and what is its own: its seed, and what was drawn from it. Both share their messages with
// it.
func splitRecipe(r *misstepv1.Recipe) (template, own *misstepv1.Recipe) {
	return share(r), &misstepv1.Recipe{Seed: r.GetSeed(), Perturbation: r.GetPerturbation()}
}

// share returns a recipe with the fields of another one that its template has, and with the same messages. Each lease that is read
// and each that is written has one made, so it is made by hand, not by reflection.
func share(of *misstepv1.Recipe) *misstepv1.Recipe {
	return &misstepv1.Recipe{
		Jdk: of.GetJdk(), Workload: of.GetWorkload(), JvmFlags: of.GetJvmFlags(), Instrumentation: of.GetInstrumentation(),
		Sampling: of.GetSampling(), Checks: of.GetChecks(), Limits: of.GetLimits(), AgentDigest: of.GetAgentDigest(),
		FlagSet: of.GetFlagSet(), Executor: of.GetExecutor(), Evidence: of.GetEvidence(), Profiler: of.GetProfiler(),
		FailureFindings: of.GetFailureFindings(),
	}
}

// writeRecipe returns what the columns recipe and template hold of a recipe, nil and 0 for none. It stores the template unless it
// is there.
func (t *Tx) writeRecipe(r *misstepv1.Recipe) (own any, key int64, err error) {
	if r == nil {
		return nil, 0, nil
	}
	if e, known := t.encoded[r]; known {
		return e.own, e.key, nil
	}
	template, rest := splitRecipe(r)
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(template)
	if err != nil {
		return nil, 0, err
	}
	sum := sha256.Sum256(raw)
	key = int64(binary.BigEndian.Uint64(sum[:])>>1) | 1 // 0 says that there is none
	if t.templates[key] == nil && t.read.get(key) == nil {
		const add = "INSERT INTO recipes (id, recipe) VALUES (?,?) ON CONFLICT DO NOTHING"
		if raw == nil {
			raw = []byte{}
		}
		if err := t.Exec("store a recipe", add, key, raw); err != nil {
			return nil, 0, err
		}
		t.noteTemplate(key, proto.CloneOf(template)) // the caller's messages may change
	}
	own, err = Marshal(rest)
	if err == nil {
		t.noteEncoded(r, own, key)
	}
	return own, key, err
}

// encodedRecipe is what the columns of a row hold of a recipe.
type encodedRecipe struct {
	own any
	key int64
}

// noteEncoded notes the encoding of a recipe that was read or written: the recipe of a result is that of its lease. In an update
// nobody changes it (see store.Tx).
func (t *Tx) noteEncoded(r *misstepv1.Recipe, own any, key int64) {
	if !t.update || key == 0 {
		return
	}
	if t.encoded == nil {
		t.encoded = map[*misstepv1.Recipe]encodedRecipe{}
	}
	t.encoded[r] = encodedRecipe{own, key}
}

// partial is a row whose recipe has only what is its own.
type partial[T any] struct {
	row T
	// recipe is where the row's recipe is; key is 0 when it is whole, or none.
	recipe **misstepv1.Recipe
	own    any
	key    int64
}

// whole completes the recipes of rows.
func whole[T any](t *Tx, rows []partial[T], err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	var out []T
	for _, p := range rows {
		if p.key != 0 {
			template, err := t.template(p.key)
			if err != nil {
				return nil, err
			}
			r := share(template)
			if !t.update {
				r = proto.CloneOf(template)
			}
			r.Seed, r.Perturbation = (*p.recipe).GetSeed(), (*p.recipe).GetPerturbation()
			*p.recipe = r
			t.noteEncoded(r, p.own, p.key)
		}
		out = append(out, p.row)
	}
	return out, nil
}

// one is whole for a single row.
func one[T any](t *Tx, row partial[T], err error) (T, error) {
	all, err := whole(t, []partial[T]{row}, err)
	if err != nil {
		var none T
		return none, err
	}
	return all[0], nil
}

func (t *Tx) template(key int64) (*misstepv1.Recipe, error) {
	if known := t.templates[key]; known != nil {
		return known, nil
	}
	if known := t.read.get(key); known != nil {
		return known, nil
	}
	var raw any
	if err := t.row("SELECT recipe FROM recipes WHERE id = ?", key)(&raw); err != nil {
		return nil, fmt.Errorf("read a recipe: %w", err)
	}
	r, err := Unmarshal(raw, &misstepv1.Recipe{})
	if err != nil {
		return nil, fmt.Errorf("read a recipe: %w", err)
	}
	t.read.put(key, r) // what this transaction has written is among its own
	return r, nil
}

func (t *Tx) noteTemplate(key int64, r *misstepv1.Recipe) {
	if t.templates == nil {
		t.templates = map[int64]*misstepv1.Recipe{}
	}
	t.templates[key] = r
}
