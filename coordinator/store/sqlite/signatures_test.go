package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/rates"
	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/signature"
)

// A store that a hunt wrote before signatures had versions, its stacks left out: all of its findings have new ids, wherever one
// is named.
func TestFindingsOfVersion0(t *testing.T) {
	const clinit, clinitNow, loadClass, loadClassNow = "F313247774e0d", "F598b0c04d78c", "Fa99faa3777de", "F7e24c133ede6"
	path := filepath.Join(t.TempDir(), "store.db")
	old, err := os.ReadFile("testdata/version0.db")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, old, 0o600))
	for range 2 { // the second time nothing is left to do
		s, err := Open(t.Context(), path)
		require.NoError(t, err)
		require.NoError(t, s.View(t.Context(), func(tx store.Tx) error {
			findings, err := tx.Findings()
			require.NoError(t, err)
			require.Len(t, findings, 15)
			current := map[string]bool{}
			for _, f := range findings {
				p := f.Proto
				current[p.GetId()] = true
				assert.Equal(t, signature.ID(p.GetSignature()), p.GetId())
				assert.Equal(t, uint32(signature.Version), p.GetSignature().GetVersion())
				require.Len(t, p.GetFormerIds(), 1)
				assert.True(t, signature.HasID(p.GetSignature(), p.GetFormerIds()[0]))
			}
			for _, f := range findings {
				for _, id := range f.Proto.GetFits() {
					assert.True(t, current[id], "%s fits %s", f.Proto.GetId(), id)
				}
			}
			f, err := tx.Finding(clinitNow)
			require.NoError(t, err)
			assert.Equal(t, []string{clinit}, f.Proto.GetFormerIds())
			_, err = tx.Finding(clinit)
			require.ErrorIs(t, err, store.ErrNotFound)

			hits, err := tx.Hits(clinitNow)
			require.NoError(t, err)
			assert.Equal(t, uint64(3), sum(hits))
			hits, err = tx.Hits(clinit)
			require.NoError(t, err)
			assert.Empty(t, hits)

			decisions, err := tx.Decisions()
			require.NoError(t, err)
			require.Len(t, decisions, 1)
			assert.Equal(t, loadClassNow, decisions[0].GetFinding())
			assert.Equal(t, clinitNow, decisions[0].GetInto())

			campaigns, err := tx.Campaigns(false)
			require.NoError(t, err)
			require.Len(t, campaigns, 1)
			assert.Len(t, campaigns[0].Tally.GetFindingIds(), 15)
			trials, err := tx.Trials(campaigns[0].ID, 0, 100)
			require.NoError(t, err)
			n := 0
			for _, trial := range trials {
				n += len(trial.FindingIDs)
				for _, id := range trial.FindingIDs {
					assert.True(t, current[id], "trial %d shows %s", trial.ID, id)
				}
			}
			assert.Equal(t, 23, n)
			for _, id := range campaigns[0].Tally.GetFindingIds() {
				assert.True(t, current[id], "the campaign found %s", id)
			}

			r, err := tx.Reproduction("R0123456789ab")
			require.NoError(t, err)
			assert.Equal(t, clinitNow, r.GetSpec().GetFindingId())
			assert.Equal(t, clinitNow, signature.ID(r.GetSpec().GetSignature()))
			assert.Equal(t, uint32(signature.Version), r.GetSpec().GetSignature().GetVersion())
			assert.Equal(t, loadClassNow, r.GetOthers()[0])
			assert.True(t, current[r.GetOthers()[1]])
			made := r.GetReproducer().GetFinding()
			assert.Equal(t, clinitNow, made.GetId())
			assert.Equal(t, []string{loadClassNow}, made.GetAliases())
			assert.Equal(t, []string{clinit}, made.GetFormerIds())
			return nil
		}))
		require.NoError(t, s.Close())
	}
}

func sum(counts []rates.Count) (n uint64) {
	for _, c := range counts {
		n += c.N
	}
	return n
}

// A finding that was merged keeps its head's id, though its reproducer shows an alias's signature.
func TestRenamedHead(t *testing.T) {
	ids := renamed{"Fold": "Fnew"}
	alias := &misstepv1.Finding{Id: "Fold", Signature: &misstepv1.Signature{Kind: signature.KindHang, Parts: []string{"limit"}}}
	assert.Equal(t, "Fnew", ids.upgrade(alias))
	assert.Equal(t, uint32(signature.Version), alias.GetSignature().GetVersion())
	assert.Equal(t, "Fother", ids.of("Fother"))
}
