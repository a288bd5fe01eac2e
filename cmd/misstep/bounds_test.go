package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every flag and argument that takes a number says which numbers are allowed, its default among them; every one that takes an
// address says which form it has.
func TestEveryNumberHasBounds(t *testing.T) {
	numbers := 0
	for _, leaf := range model(t).Leaves(false) {
		values := leaf.Positional
		for _, f := range leaf.Flags {
			values = append(values, f.Value)
		}
		for _, v := range values {
			name := leaf.FullPath() + " " + v.ShortSummary()
			if strings.HasSuffix(v.Tag.PlaceHolder, "HOST:PORT") || strings.HasPrefix(v.Tag.PlaceHolder, "tcp:") {
				assert.True(t, v.Tag.Has(tagAddress), name)
			}
			number := v.Target.Type()
			if number.Kind() == reflect.Pointer {
				number = number.Elem()
			}
			if k := number.Kind(); k < reflect.Int || k > reflect.Float64 {
				continue
			}
			numbers++
			if !assert.True(t, v.Tag.Has(tagWithin), "%s has no tag %s", name, tagWithin) || v.Tag.Get(tagWithin) == withinAny {
				continue
			}
			_, err := parseInterval(v.Tag.Get(tagWithin), isDuration(v.Target))
			require.NoError(t, err, name)
			if v.HasDefault {
				fresh := reflect.New(v.Target.Type()).Elem()
				require.NoError(t, v.Parse(kong.ScanFromTokens(kong.Token{Value: v.Default}), fresh), name)
				assert.NoError(t, checkValue(v, fresh), name)
			}
		}
	}
	assert.Greater(t, numbers, 20)
}

func TestValuesOutOfBoundsAreRefused(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"hunt c.yaml --for 0s", exitFailed, "--for: want a value above 0s, got 0s"},
		{"hunt c.yaml --for=-5s", exitFailed, "--for: want a value above 0s, got -5s"},
		{"hunt c.yaml --slots 0", exitFailed, "--slots: want a value at least 1 and at most 4096, got 0"},
		{"hunt c.yaml --slots=-1", exitFailed, "--slots: want a value at least 1 and at most 4096, got -1"},
		{"hunt c.yaml --budget-trials 0", exitFailed, "--budget-trials: want a value at least 1"},
		{"reproduce F1 --budget-time=-1h --dir d", exitFailed, "--budget-time: want a value above 0s"},
		{"runner --coordinator 127.0.0.1:1 --slots 0", exitFailed, "--slots"},
		{"runner --coordinator 127.0.0.1:1 --slots 4294967297", exitFailed, "--slots: want a value at least 1 and at most 4096"},
		{"store backup d ''", exitFailed, "<to>: want a value, got an empty one"},
		{"store restore '' d", exitFailed, "<from>: want a value, got an empty one"},
		{"store copy d ''", exitFailed, "to: want a value, got an empty one"},
		{"coordinator --dir d --store ''", exitFailed, "--store: want a value, got an empty one"},
		{"coordinator --dir ''", exitFailed, "--dir: want a value, got an empty one"},
		{"coordinator --dir d --listen ''", exitFailed, "--listen: want a value, got an empty one"},
		{"runner --coordinator 127.0.0.1", exitFailed, `--coordinator: want HOST:PORT, such as 127.0.0.1:7867, got "127.0.0.1"`},
		{"coordinator --dir d --lease-time 0s", exitFailed, "--lease-time: want a value at least 1s"},
		{"coordinator --dir d --listen 7867", exitFailed, "--listen: want HOST:PORT"},
		{"campaign list --coordinator host:99999", exitFailed, "--coordinator: want HOST:PORT"},
		{"findings undo 0 --dir d", exitFailed, "decision: want a value at least 1"},
		{"fleet upgrade f.yaml --patience=-1s", exitFailed, "--patience: want a value at least 0s, got -1s"},
		{"fleet upgrade none.yaml --patience 0s", exitFailed, "read the fleet file"},
		{"fleet scale f.yaml -1", exitFailed, "count: want a value at least 0, got -1"},
		{"fleet scale f.yaml --wait 1m -12 --group plain", exitFailed, "count: want a value at least 0, got -12"},
		{"fleet package -o1 -1 f.yaml", exitFailed, "unknown flag -1"},
		{"fleet status f.yaml -1", exitFailed, "unknown flag -1"},
		{"replay b.zip --tries 0", exitFailed, "--tries: want a value at least 1"},
		{"replay b.zip --recording --gdb 1234", exitFailed, "--gdb: want tcp:HOST:PORT"},
		{"retest b.zip --jdk j --confidence NaN", exitFailed, "--confidence: want a value above 0.5 and below 1, got NaN"},
		{"retest b.zip --jdk j --max-tries 0", exitFailed, "--max-tries: want a value at least 1"},
		{"corpus gc d --grace 0s", exitFailed, "--grace: want a value at least 1h40m"},
		{"vm run --cpus=-1 -- true", exitFailed, "--cpus: want a value at least 1"},
		{"vm run --timeout 0s -- true", exitFailed, "--timeout: want a value above 0s"},
		{"sched run --timeout 0s -- true", exitOwn, "--timeout: want a value above 0s"},
		{"sched run --max-runs 0 -- true", exitOwn, "--max-runs: want a value at least 1"},
	} {
		var out, errs strings.Builder
		given := strings.Fields(c.args)
		for i := range given {
			given[i] = strings.ReplaceAll(given[i], "''", "")
		}
		assert.Equal(t, c.code, run(t.Context(), given, &out, &errs), c.args)
		assert.Contains(t, errs.String(), "misstep: "+c.want, c.args)
		assert.Empty(t, out.String(), c.args)
	}
}

// An empty variable of the environment is as one that is not set.
func TestEmptyVariables(t *testing.T) {
	t.Setenv("MISSTEP_SIGNING_KEY", "")
	var out, errs strings.Builder
	assert.Zero(t, run(t.Context(), []string{"checks"}, &out, &errs), errs.String())
}
