package custody_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"misstep/coordinator/store"
	"misstep/corpus"
	misstepv1 "misstep/proto/misstep/v1"
)

// wire sends and receives bytes as they are.
type wire struct{}

func (wire) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil } //nolint:forcetypeassert // only this file calls it
func (wire) Name() string                  { return "proto" }
func (wire) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = slices.Clone(data) //nolint:forcetypeassert // only this file calls it
	return nil
}

// Any bytes as the messages of any call, sent twice, give a runner nothing that its leases do not need, and no answer says whether
// it is there; nothing that is stored changes.
func FuzzCorpusCalls(f *testing.F) {
	const secret = "evidence of another runner"
	methods := misstepv1.File_misstep_v1_corpus_proto.Services().ByName("CorpusService").Methods()
	there := corpus.DigestBytes([]byte(secret)).String()
	for i := range methods.Len() {
		for _, m := range []proto.Message{
			&misstepv1.FindMissingRequest{Digests: []string{there}},
			&misstepv1.FindMissingRequest{Digests: slices.Repeat([]string{there}, 10_001)},
			&misstepv1.ReadRequest{Digest: there}, &misstepv1.ReadRequest{Digest: "../../" + there}, &misstepv1.ReadRequest{},
			&misstepv1.WriteRequest{Digest: there, Data: []byte(secret)}, &misstepv1.WriteRequest{Data: make([]byte, 2<<20)},
			&misstepv1.WriteRequest{Digest: there, Data: []byte("something else")},
			&misstepv1.SignReadsRequest{Digests: []string{there}},
			&misstepv1.SignWritesRequest{Blobs: []*misstepv1.BlobSize{{Digest: there, Size: 1 << 63}}},
			&misstepv1.ListChunksRequest{Digest: there}, &misstepv1.AddEntryRequest{Entry: strings.Repeat("x", 1<<17)},
		} {
			raw, err := proto.Marshal(m)
			require.NoError(f, err)
			f.Add(i, raw)
			f.Add(i, raw[:len(raw)/2])
		}
	}
	f.Fuzz(func(t *testing.T, method int, raw []byte) {
		m := methods.Get(int(uint(method) % uint(methods.Len())))
		p := newPlace(t)
		jdk := p.tree("jdk", 1)
		p.put(secret)
		p.leases["a"] = []*store.Lease{lease("L1", jdk, jdk)}
		name := "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
		for range 2 {
			p.later()
			stream, err := p.conn.NewStream(p.as("a"), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, name,
				grpc.ForceCodec(wire{}))
			require.NoError(t, err)
			_ = stream.SendMsg(&raw)
			_ = stream.CloseSend()
			for err == nil {
				var answer []byte
				if err = stream.RecvMsg(&answer); err == nil {
					assert.NotContains(t, string(answer), secret, m.Name())
				}
			}
			text := status.Convert(err).Message()
			code := status.Code(err)
			unread := strings.Contains(text, "unmarshal") || code == codes.Unknown && text == "EOF"
			assert.True(t, unread || code != codes.Internal && code != codes.Unknown, "%s: %v", m.Name(), err)
			assert.Less(t, len(text), 8<<10, "an answer does not repeat all that was sent")
		}
		missing, err := p.blobs.Missing(t.Context(), []corpus.Digest{corpus.DigestBytes([]byte(secret)), jdk})
		require.NoError(t, err)
		assert.Empty(t, missing)
	})
}
