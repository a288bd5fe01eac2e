package station

import (
	"context"
	"errors"
	"log/slog"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"misstep/app/observe"
	"misstep/coordinator/access"
	"misstep/coordinator/accounts"
	"misstep/coordinator/store/stores"
	"misstep/internal/within"
	misstepv1 "misstep/proto/misstep/v1"
)

// OpenAccess opens the tokens, the grants and the audit log of the store that a URL names (see stores.Open), for whoever holds the
// store: by this the first admin gets in. A coordinator may be running on it. The store is made if there is none.
func OpenAccess(ctx context.Context, url string, logger *slog.Logger) (misstepv1.AccessServiceClient, func(), error) {
	st, err := stores.OpenLogged(ctx, url, logger)
	if err != nil {
		return nil, nil, err
	}
	service := accounts.New(accounts.Config{Store: st, Logger: logger})
	server := grpc.NewServer(access.ServerOptions(access.Options{Audit: service.Record})...)
	misstepv1.RegisterAccessServiceServer(server, service)
	conn, err := embedded(server)
	if err != nil {
		return nil, nil, errors.Join(err, st.Close())
	}
	return misstepv1.NewAccessServiceClient(conn), func() {
		_ = conn.Close()
		server.Stop()
		_ = st.Close()
	}, nil
}

// embedded connects to a server inside this process; options are further ones.
func embedded(server *grpc.Server, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	pipe := within.Listen()
	go func() { _ = server.Serve(pipe) }() // ends with ErrServerStopped at close
	return grpc.NewClient("passthrough:embedded", append(append(observe.TraceDialOptions(), options...),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.Dial(ctx) }),
		MessageSizes)...)
}
