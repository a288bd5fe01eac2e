package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"misstep/coordinator"
	"misstep/coordinator/store"
	"misstep/coordinator/store/stores"
	"misstep/corpus"
	"misstep/corpus/known"
	"misstep/corpus/localdir"
	"misstep/corpus/overlay"
	"misstep/corpus/remote"
	"misstep/bundle/share"
	misstepv1 "misstep/proto/misstep/v1"
)

// station is a coordinator to talk to: one on the network, or one opened in this process on a folder.
type station struct {
	misstepv1.AdminServiceClient
	leases misstepv1.LeaseServiceClient
	blobs  corpus.Store
	// remote: it is another process, which has neither this machine's catalogues nor a runner here.
	remote bool
	// close ends the connection. What was answered is durable, so an error here loses nothing.
	close func()
}

// messages bounds what a client takes from a coordinator and sends to it.
var messages = grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(coordinator.MaxMessage), grpc.MaxCallSendMsgSize(coordinator.MaxMessage))

// dial connects to a coordinator on the network. Connections are plain: run both ends on one host or inside a private network.
func dial(addr string) (*station, error) {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		messages)
	if err != nil {
		return nil, fmt.Errorf("connect to coordinator %s: %w", addr, err)
	}
	st := over(conn, func() { _ = conn.Close() })
	st.remote = true
	return st, nil
}

func over(conn *grpc.ClientConn, close func()) *station {
	return &station{
		AdminServiceClient: misstepv1.NewAdminServiceClient(conn),
		leases:             misstepv1.NewLeaseServiceClient(conn),
		blobs:              remote.Client(conn),
		close:              close,
	}
}

// serving is a coordinator on a folder: its gRPC server, ready for listeners.
type serving struct {
	server *grpc.Server
	store  store.Store
	blobs  corpus.Store
	// stopRunning ends the coordinator's work beside its calls and waits for its end.
	stopRunning func()
}

// open opens or makes the folder of a coordinator: the store, and the corpus in blobs/. extra sources are served, too.
// Shared bundles must keep the policy.
func open(dir string, timing coordinator.Config, policy share.Policy, extra ...corpus.Source) (*serving, error) {
	st, err := stores.Open(context.Background(), dir)
	if err != nil {
		return nil, err
	}
	local, err := localdir.New(filepath.Join(dir, "blobs"))
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	blobs := overlay.New(local, extra...)
	timing.Store, timing.Known, timing.Strategies = st, known.Default(), strategies()
	server := grpc.NewServer(coordinator.ServerOptions()...)
	c := coordinator.New(timing)
	c.Register(server)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	misstepv1.RegisterCorpusServiceServer(server, remote.NewServer(blobs, remote.Shared(share.Folder(filepath.Join(dir, "blobs")), policy)))
	return &serving{server: server, store: st, blobs: blobs, stopRunning: func() { cancel(); running.Wait() }}, nil
}

func (s *serving) close() error {
	s.server.Stop()
	s.stopRunning()
	return s.store.Close()
}

// embed opens the coordinator of a folder inside this process and connects to it.
func embed(dir string, timing coordinator.Config) (*station, error) {
	s, err := open(dir, timing, share.Policy{})
	if err != nil {
		return nil, err
	}
	pipe := bufconn.Listen(1 << 20)
	go func() { _ = s.server.Serve(pipe) }() // ends with ErrServerStopped at close
	conn, err := grpc.NewClient("passthrough:embedded", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }),
		messages)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	st := over(conn, func() { _ = errors.Join(conn.Close(), s.close()) })
	st.blobs = s.blobs // no detour over the wire for evidence
	return st, nil
}

// where is the pair of options by which commands choose a coordinator.
type where struct {
	Coordinator string `help:"Address of a running coordinator." placeholder:"HOST:PORT" xor:"where"`
	Dir         string `help:"Folder of a hunt or coordinator, opened directly." type:"path" placeholder:"DIR" xor:"where"`
}

func (w where) station(logger *slog.Logger) (*station, error) {
	switch {
	case w.Coordinator != "":
		return dial(w.Coordinator)
	case w.Dir != "":
		if err := stores.InFolder(w.Dir); err != nil {
			return nil, fmt.Errorf("%s holds no hunt (%w); give the --dir of an earlier `misstep hunt` or coordinator", w.Dir, err)
		}
		return embed(w.Dir, coordinator.Config{Logger: logger})
	}
	return nil, errors.New("give --coordinator HOST:PORT or --dir DIR")
}

// warnings logs what needs attention, as plain lines on stderr.
func (e *env) warnings() *slog.Logger {
	return slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// servingLog logs what long-running services do.
func (e *env) servingLog() *slog.Logger {
	return slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// huntTiming suits a coordinator whose runner is in the same process: short rounds, and leases that a restart takes back soon.
func huntTiming(logger *slog.Logger) coordinator.Config {
	return coordinator.Config{Logger: logger, LeaseTime: 10 * time.Second, SyncInterval: 500 * time.Millisecond}
}
