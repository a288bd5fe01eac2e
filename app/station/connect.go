package station

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // the client's half of health checking
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"misstep/app/limits"
	"misstep/app/login"
	"misstep/app/observe"
)

// policy is how calls are spread and repeated. Coordinators are used in turn while their health service, if they have one, says
// that they serve. A runner's report may be sent twice (see LeaseService), so it goes to another coordinator at once when one ends
// during the call; other calls are not repeated. When most calls fail, as while the database is lost, repetitions stop.
const policy = `{
  "loadBalancingConfig": [{"round_robin": {}}],
  "healthCheckConfig": {"serviceName": ""},
  "methodConfig": [{
    "name": [{"service": "misstep.v1.LeaseService"}],
    "retryPolicy": {
      "maxAttempts": 3, "initialBackoff": "0.1s", "maxBackoff": "1s", "backoffMultiplier": 3,
      "retryableStatusCodes": ["UNAVAILABLE"]
    }
  }],
  "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1}
}`

const (
	// pingAfter is how long a connection may be silent before it is probed: gRPC's least value. pingTimeout is how long the probe,
	// and on Linux any byte sent, may stay unanswered before the connection counts as dead.
	pingAfter   = 10 * time.Second
	pingTimeout = 4 * time.Second
	// connectTimeout bounds one attempt to connect; redialAfter is the longest wait between two.
	connectTimeout = 5 * time.Second
	redialAfter    = 5 * time.Second
)

// connection are the options of every connection to coordinators on the network.
func connection() []grpc.DialOption {
	redial := grpc.ConnectParams{MinConnectTimeout: connectTimeout}
	redial.Backoff.BaseDelay, redial.Backoff.Multiplier = 200*time.Millisecond, 1.6
	redial.Backoff.Jitter, redial.Backoff.MaxDelay = 0.2, redialAfter
	return []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(policy),
		grpc.WithDisableServiceConfig(), // names have addresses and nothing else to say
		grpc.WithConnectParams(redial),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: pingAfter, Timeout: pingTimeout, PermitWithoutStream: true}),
		MessageSizes,
	}
}

// Connect connects to the services of the coordinators at the addresses HOST:PORT, all of them on one store. A coordinator that
// ended, that does not answer or that says that it does not serve is left out until it is back. Calls fail with Unavailable and
// name the addresses when none answers.
func Connect(addrs ...string) (*grpc.ClientConn, error) { return ConnectWith(nil, addrs...) }

// ConnectWith is Connect with options of one's own, such as those that make it secure: without, the connection is plain text.
func ConnectWith(options []grpc.DialOption, addrs ...string) (*grpc.ClientConn, error) {
	list := strings.Join(addrs, ", ")
	if list == "" {
		return nil, errors.New("connect to coordinator: no address given; expected HOST:PORT")
	}
	names := &addresses{list: addrs}
	options = slices.Concat(connection(), options, observe.TraceDialOptions())
	conn, err := grpc.NewClient(names.target(), append(options, login.DialOption(addrs...), limits.DialOption(),
		grpc.WithResolvers(names),
		grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
			call grpc.UnaryInvoker, options ...grpc.CallOption,
		) error {
			return names.unreachable(call(ctx, method, request, reply, conn, options...))
		}),
		grpc.WithChainStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
			open grpc.Streamer, options ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			stream, err := open(ctx, desc, conn, method, options...)
			return stream, names.unreachable(err)
		}))...)
	if err != nil {
		return nil, fmt.Errorf("connect to coordinator %s: %w", list, err)
	}
	return conn, nil
}

// connectionRE matches gRPC's messages about a connection that cannot be made, repeated calls' too; its group is the cause. The
// last one is of a balancer that got no address.
var connectionRE = regexp.MustCompile(`^(?:max retries exhausted: .*? desc = )?(?:` +
	`connection error: desc = "(?:transport: )?(?:Error while dialing: )?(.*)"|` +
	`name resolver error: (.*)|(?:dns: |` + listError + `: )(.*)|no children to pick from)$`)

// plainRE matches what happens to plain text that is sent to a port with TLS: the connection is closed at once.
var plainRE = regexp.MustCompile(`^error reading server preface: .*(EOF|connection reset by peer|broken pipe)$`)

// unreachable rewords an error that means that nobody answers; others stay.
func (a *addresses) unreachable(err error) error {
	s, ok := status.FromError(err)
	if err == nil || !ok || s.Code() != codes.Unavailable {
		return err
	}
	m := connectionRE.FindStringSubmatch(s.Message())
	if m == nil {
		return err
	}
	cause := m[1] + m[2] + m[3]
	if why, found := strings.CutPrefix(cause, "authentication handshake failed: "); found {
		return status.Errorf(codes.Unavailable, "no secure connection to %s: %s", strings.Join(a.list, ", "), why)
	}
	if cause == "" {
		cause, _ = a.unresolved.Load().(string)
	}
	remedy := "start one with `misstep coordinator`, or correct the address"
	if plainRE.MatchString(cause) {
		remedy = "if it has TLS, give its authority by --tls-ca"
	}
	return status.Errorf(codes.Unavailable, "no coordinator answers at %s (%s); %s", strings.Join(a.list, ", "), cause, remedy)
}
