package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"time"

	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store"
	misstepv1 "misstep/proto/misstep/v1"
)

// everyKind of entry of the catalogue.
const everyKind = misstepv1.CatalogueKind_CATALOGUE_KIND_UNSPECIFIED

// Table is what a store has of one kind of row.
type Table struct {
	Name string `json:"table"`
	Rows uint64 `json:"rows"`
	// Digest of all rows in their order, the same for every kind of store: "sha256:" and 64 hex digits.
	Digest string `json:"digest"`
}

// TablesOf returns what a store has, in one state.
func TablesOf(ctx context.Context, s store.Store) (tables []Table, err error) {
	err = s.View(ctx, func(tx store.Tx) error {
		l, err := loader(tx)
		if err == nil {
			tables, err = Tables(l)
		}
		return err
	})
	return tables, err
}

// Tables returns what a transaction sees.
func Tables(tx store.Loader) ([]Table, error) {
	campaigns, err := tx.Campaigns(false)
	if err != nil {
		return nil, err
	}
	var all []Table
	for _, t := range []struct {
		name string
		rows func(*rows) error
	}{
		{"campaigns", func(r *rows) error {
			for _, c := range campaigns {
				r.row(c.ID, c.Owner, c.Submission, int64(c.State), c.Submitted, c.Ended, c.Probes, c.Next, c.Turn, c.OwnerTurn,
					c.StrategyState, c.Tally)
			}
			return nil
		}},
		{"jobs", func(r *rows) error { return r.jobs(tx, campaigns) }},
		{"leases", func(r *rows) error { return r.leases(tx) }},
		{"trials", func(r *rows) error { return r.trials(tx, campaigns) }},
		{"findings", func(r *rows) error {
			findings, err := tx.Findings()
			for _, f := range findings {
				r.row(f.Proto, int64(f.Weight))
			}
			return err
		}},
		{"decisions", messages(tx.Decisions)},
		{"known bugs", messages(tx.KnownBugs)},
		{"visibility", messages(tx.Visibilities)},
		{"reproductions", messages(func() ([]*misstepv1.Reproduction, error) { return tx.Reproductions(false) })},
		{"catalogue", messages(func() ([]*misstepv1.CatalogueEntry, error) { return tx.CatalogueEntries(everyKind) })},
		{"schedules", messages(tx.Schedules)},
		{"retests", messages(func() ([]*misstepv1.Retest, error) { return tx.Retests() })},
		{"repetitions", func(r *rows) error {
			all, err := tx.Repetitions(store.RepetitionFilter{})
			for _, one := range all {
				r.row(one.Campaign, one.Index, one.Lease, one.Needs, one.Proto)
			}
			return err
		}},
		{"workers", func(r *rows) error { return r.workers(tx) }},
		{"tokens", func(r *rows) error {
			all, err := tx.Tokens()
			for _, token := range all {
				r.row(token.Proto, token.Hash)
			}
			return err
		}},
		{"access", messages(tx.Access)},
		{"audit log", func(r *rows) error { return r.auditLog(tx) }},
	} {
		r := &rows{hash: sha256.New()}
		if err := t.rows(r); err != nil {
			return nil, err
		}
		all = append(all, Table{t.name, r.n, "sha256:" + hex.EncodeToString(r.hash.Sum(nil))})
	}
	return all, nil
}

// rows digests rows one after the other.
type rows struct {
	hash hash.Hash
	n    uint64
}

// row adds a row with these columns. Each is preceded by its length, so that no two rows have the same text.
func (r *rows) row(columns ...any) {
	r.n++
	for _, c := range columns {
		var raw []byte
		switch c := c.(type) {
		case string:
			raw = []byte(c)
		case []byte:
			raw = c
		case bool:
			if raw = []byte{0}; c {
				raw = []byte{1}
			}
		case int64:
			raw = binary.BigEndian.AppendUint64(nil, uint64(c))
		case uint64:
			raw = binary.BigEndian.AppendUint64(nil, c)
		case time.Time:
			if !c.IsZero() {
				raw = binary.BigEndian.AppendUint64(nil, uint64(c.UnixNano()))
			}
		case proto.Message:
			// No message and an empty one differ.
			if c.ProtoReflect().IsValid() {
				raw, _ = proto.MarshalOptions{Deterministic: true}.MarshalAppend([]byte{1}, c) // it was read, so it can be written
			}
		default:
			panic("a column of an unknown type")
		}
		r.hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(raw))))
		r.hash.Write(raw)
	}
}

func messages[M proto.Message](list func() ([]M, error)) func(*rows) error {
	return func(r *rows) error {
		all, err := list()
		for _, m := range all {
			r.row(m)
		}
		return err
	}
}

func (r *rows) jobs(tx store.Tx, campaigns []*store.Campaign) error {
	for _, c := range campaigns {
		jobs, err := tx.Jobs(c.ID)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			r.row(j.Campaign, j.Index, int64(j.Failures), int64(j.Lost), j.NotBefore, j.Recipe)
		}
	}
	return nil
}

func (r *rows) leases(tx store.Tx) error {
	leases, err := tx.Leases(store.LeaseFilter{})
	for _, l := range leases {
		r.row(l.ID, l.Runner, l.Job.Campaign, l.Job.Index, int64(l.Job.Failures), int64(l.Job.Lost), l.Recipe, l.Granted,
			l.Deadline)
	}
	return err
}

func (r *rows) trials(tx store.Tx, campaigns []*store.Campaign) error {
	for _, c := range campaigns {
		for after := uint64(0); ; {
			trials, err := tx.Trials(c.ID, after, page)
			if err != nil {
				return err
			}
			if len(trials) == 0 {
				break
			}
			for _, t := range trials {
				after = t.ID
				r.row(t.ID, t.Campaign, t.Index, t.Recipe, t.Outcome, t.Failure, t.Ended, int64(len(t.FindingIDs)))
				for _, id := range t.FindingIDs {
					r.hash.Write(append([]byte(id), 0))
				}
			}
		}
	}
	return nil
}

func (r *rows) auditLog(tx store.Tx) error {
	for before := uint64(0); ; {
		all, err := tx.Audit(store.AuditFilter{Before: before, Limit: page})
		if err != nil || len(all) == 0 {
			return err
		}
		for _, e := range all {
			before = e.GetId()
			r.row(e)
		}
	}
}

func (r *rows) workers(tx store.Loader) error {
	names, err := tx.WorkerNames()
	if err != nil {
		return err
	}
	for _, name := range names {
		data, err := tx.WorkerState(name)
		if err != nil {
			return err
		}
		r.row(name, data)
	}
	return nil
}
