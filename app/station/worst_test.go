package station_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"misstep/coordinator"
	"misstep/coordinator/access"
	"misstep/coordinator/intake"
	"misstep/internal/testenv/shapes"
	misstepv1 "misstep/proto/misstep/v1"
)

// asItIs sends a message without a copy.
type asItIs struct{}

func (asItIs) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil //nolint:forcetypeassert // only this file calls it
}
func (asItIs) Unmarshal(mem.BufferSlice, any) error { return nil }
func (asItIs) Name() string                         { return "proto" }

// send makes a call with one message, and returns how it ended and what this process allocated meanwhile, in bytes.
func send(t *testing.T, conn *grpc.ClientConn, method string, message []byte) (int, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	before := allocated()
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method,
		grpc.ForceCodecV2(asItIs{}), grpc.MaxCallSendMsgSize(2*coordinator.MaxMessage))
	require.NoError(t, err)
	if err = s.SendMsg(message); err == nil {
		err = s.CloseSend()
	}
	if err == nil || errors.Is(err, io.EOF) { // of SendMsg it means that RecvMsg knows why
		err = s.RecvMsg(new([]byte)) // one answer: some streams do not end
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return allocated() - before, err
}

func allocated() int {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.TotalAlloc)
}

// aside is what this process allocates in bytes beside a call: the client's, the coordinator's clock, and the window of a stream,
// into which a client may write before anybody reads.
const aside = 3 << 20

// Each method, with messages of the worst shapes, from each role: none costs more than four times its method's largest message. One
// that is too large or forbidden costs nothing.
func TestWorstMessages(t *testing.T) {
	s := besiege(t)
	whole := make([]byte, coordinator.MaxMessage-1<<20)
	callers := map[string]*grpc.ClientConn{"nobody": s.connect("nobody")} // whom nobody believes
	for who := range roles {
		callers[who] = s.connect(who)
	}
	for _, m := range methods(t) {
		name := fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name())
		for who, conn := range callers {
			want := answerTo(name, who)
			if name == misstepv1.CorpusService_Write_FullMethodName && roles[who] == misstepv1.Role_ROLE_RUNNER {
				want = codes.FailedPrecondition // without a lease it is refused before its message is looked at
			}
			cost, err := send(t, conn, name, whole)
			assert.Equal(t, want, status.Code(err), "%s by %s: %.200v", name, who, err)
			assert.LessOrEqual(t, cost, aside, "%s by %s, %d bytes: %.200v", name, who, len(whole), err)
		}
		for shape, message := range worst(m, name) {
			for who, conn := range callers {
				cost, err := send(t, conn, name, message)
				most, want := aside, answerTo(name, who)
				if want == codes.ResourceExhausted {
					most += 4 * intake.Largest(name)
				} else {
					assert.Equal(t, want, status.Code(err), "%s by %s, %s: %.200v", name, who, shape, err)
				}
				assert.LessOrEqual(t, cost, most, "%s by %s, %s, %d bytes: %.200v", name, who, shape, len(message), err)
			}
		}
	}
}

// answerTo is how a method answers a message that is too large.
func answerTo(method, who string) codes.Code {
	switch {
	case mayCallAs(method, who):
		return codes.ResourceExhausted
	case who == "nobody":
		return codes.Unauthenticated
	}
	return codes.PermissionDenied
}

// worst are a method's worst messages: of the largest size, and the largest that are not refused for what they take.
func worst(m protoreflect.MethodDescriptor, name string) iter.Seq2[string, []byte] {
	largest := intake.Largest(name)
	return func(yield func(string, []byte) bool) {
		for _, shape := range shapes.Worst(m.Input()) {
			for _, size := range []int{largest, densest(shape, m.Input(), largest)} {
				if !yield(shape.Name, shape.Of(size)) {
					return
				}
			}
		}
	}
}

// densest is the size of the largest message of a shape that may be decoded.
func densest(shape shapes.Shape, m protoreflect.MessageDescriptor, largest int) int {
	size := largest
	for size > 1 {
		message := shape.Of(size)
		if intake.Weigh(message, m, intake.Allowance(len(message), largest)) == nil {
			break
		}
		size /= 2
	}
	return size
}

func mayCallAs(method, who string) bool {
	needed := access.MethodOf(method).Roles
	if slices.Contains(needed, misstepv1.Role_ROLE_ANYONE) {
		return true
	}
	return who != "nobody" && slices.ContainsFunc(needed, func(r misstepv1.Role) bool {
		return !access.Grantable(r) || access.Includes(roles[who], r)
	})
}

// methods are those of Misstep's services and of the foreign ones that a coordinator serves.
func methods(t *testing.T) (all []protoreflect.MethodDescriptor) {
	services := access.Services()
	for _, name := range []protoreflect.FullName{"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"} {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
		require.NoError(t, err)
		services = append(services, d.(protoreflect.ServiceDescriptor)) //nolint:forcetypeassert // they are services
	}
	for _, s := range services {
		for i := range s.Methods().Len() {
			all = append(all, s.Methods().Get(i))
		}
	}
	return all
}
