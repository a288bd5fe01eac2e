// Package station connects to a coordinator: one on the network, or one that this process opens on a folder.
package station

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"

	"misstep/bundle/share"
	"misstep/coordinator"
	"misstep/coordinator/store/stores"
	"misstep/corpus"
	"misstep/corpus/remote"
	misstepv1 "misstep/proto/misstep/v1"
)

// Station is a client of a coordinator.
type Station struct {
	misstepv1.AdminServiceClient
	// Access is the service of tokens, grants and the audit log.
	Access misstepv1.AccessServiceClient
	// Catalogue is the shared catalogue.
	Catalogue misstepv1.CatalogueServiceClient
	// Schedules are the campaigns that are submitted again and again.
	Schedules misstepv1.ScheduleServiceClient
	// Leases is the service that runners call.
	Leases misstepv1.LeaseServiceClient
	// Conn is the connection under the services.
	Conn grpc.ClientConnInterface
	// Blobs is the coordinator's corpus.
	Blobs corpus.Store
	// Receipts of the blobs that were written to a coordinator that asks for them.
	Receipts *Receipts
	// Remote means another process, which has neither this machine's catalogues nor a runner here.
	Remote bool
	// Close ends the connection. What was answered is durable, so an error here loses nothing.
	Close func()
}

// MessageSizes limits the messages that a client exchanges with a coordinator.
var MessageSizes = grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(coordinator.MaxMessage),
	grpc.MaxCallSendMsgSize(coordinator.MaxMessage))

// Dial connects to the coordinators at the addresses, see Connect. Connections are plain text: both ends are on one host.
func Dial(addrs ...string) (*Station, error) { return DialWith(nil, addrs...) }

// DialWith is Dial with options of one's own, see ConnectWith.
func DialWith(options []grpc.DialOption, addrs ...string) (*Station, error) {
	conn, err := ConnectWith(options, addrs...)
	if err != nil {
		return nil, err
	}
	st := client(conn, func() { _ = conn.Close() })
	st.Remote = true
	return st, nil
}

func client(conn *grpc.ClientConn, close func()) *Station {
	receipts := newReceipts()
	return &Station{
		Conn:               conn,
		AdminServiceClient: misstepv1.NewAdminServiceClient(conn),
		Access:             misstepv1.NewAccessServiceClient(conn),
		Catalogue:          misstepv1.NewCatalogueServiceClient(conn),
		Schedules:          misstepv1.NewScheduleServiceClient(conn),
		Leases:             misstepv1.NewLeaseServiceClient(conn),
		Blobs:              remote.Client(conn, remote.WithReceipts(receipts.add)),
		Receipts:           receipts,
		Close:              close,
	}
}

// Embed opens or makes the coordinator of a folder inside this process and connects to it.
func Embed(dir string, config coordinator.Config, options ...grpc.DialOption) (*Station, error) {
	return EmbedAt(Place{Dir: dir}, config, options...)
}

// EmbedAt is Embed for a coordinator that keeps its store or its blobs elsewhere.
func EmbedAt(place Place, config coordinator.Config, options ...grpc.DialOption) (*Station, error) {
	s, err := open(context.Background(), place, config, share.Policy{})
	if err != nil {
		return nil, err
	}
	st, err := s.Connect(options...)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	disconnect := st.Close
	st.Close = func() {
		disconnect()
		_ = s.Close()
	}
	return st, nil
}

// Connect connects to the coordinator inside this process; callers are asked who they are as on any other connection. What closes
// the station leaves the coordinator alone.
func (c *Coordinator) Connect(options ...grpc.DialOption) (*Station, error) {
	conn, err := embedded(c.server, options...)
	if err != nil {
		return nil, err
	}
	st := client(conn, func() { _ = conn.Close() })
	st.Blobs = c.blobs // evidence does not pass through the connection
	return st, nil
}

// OpenDir opens the folder of an earlier hunt or coordinator inside this process. Options are those of the connection to it, such
// as access.DialOptions.
func OpenDir(dir string, config coordinator.Config, options ...grpc.DialOption) (*Station, error) {
	if err := CheckDir(dir); err != nil {
		return nil, err
	}
	return Embed(dir, config, options...)
}

// CheckDir returns an error unless a folder is that of a hunt or coordinator.
func CheckDir(dir string) error {
	if err := stores.CheckRestored(dir); err != nil {
		return err
	}
	if url := StoreElsewhere(dir); url != "" {
		return elsewhere(dir, url)
	}
	if err := stores.InFolder(dir); err != nil {
		return fmt.Errorf("no hunt in %s (%w); give the --dir of an earlier `misstep hunt` or coordinator", dir, err)
	}
	return nil
}

// Evidence opens one piece of evidence by its digest.
func Evidence(ctx context.Context, blobs corpus.Source, ev *misstepv1.Evidence) (io.ReadCloser, error) {
	d, err := corpus.ParseDigest(ev.GetDigest())
	if err != nil {
		return nil, fmt.Errorf("evidence %s: %w", ev.GetName(), err)
	}
	r, _, err := blobs.Open(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("evidence %s: %w", ev.GetName(), err)
	}
	return r, nil
}
