package station_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthgrpc "google.golang.org/grpc/health/grpc_health_v1"

	"misstep/app/station"
	"misstep/coordinator"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// elsewhere makes a network of its own behind a link, and returns a listener in it and a function that takes the link down: what is
// sent is then lost, and nobody says so.
func elsewhere(t *testing.T) (listener net.Listener, partition func()) {
	t.Helper()
	ip := func(args ...string) error { return exec.Command("ip", args...).Run() }
	space := fmt.Sprintf("misstep-%d", os.Getpid())
	here, there := fmt.Sprintf("ms%d-0", os.Getpid()), fmt.Sprintf("ms%d-1", os.Getpid())
	if err := ip("netns", "add", space); err != nil {
		t.Skipf("no network namespace can be made (%v): run as root with iproute2", err)
	}
	t.Cleanup(func() { _ = ip("netns", "del", space) })
	if err := ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", space); err != nil {
		t.Skipf("no pair of network devices can be made: %v", err)
	}
	t.Cleanup(func() { _ = ip("link", "del", here) })
	for _, args := range [][]string{
		{"addr", "add", "198.18.34.1/30", "dev", here},
		{"link", "set", here, "up"},
		{"-n", space, "addr", "add", "198.18.34.2/30", "dev", there},
		{"-n", space, "link", "set", there, "up"},
	} {
		require.NoError(t, ip(args...), args)
	}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread that entered the namespace ends
		fd, err := unix.Open("/run/netns/"+space, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(fd, unix.CLONE_NEWNET)
		}
		if err == nil {
			listener, err = net.Listen("tcp", "198.18.34.2:0")
		}
		made <- err
	}()
	require.NoError(t, <-made)
	return listener, func() { require.NoError(t, ip("-n", space, "link", "set", there, "down")) }
}

// A coordinator behind a partition is noticed by what is sent and not acknowledged, before its answer is due.
func TestPartition(t *testing.T) {
	listener, partition := elsewhere(t)
	st := memory.New()
	defer st.Close()
	server := grpc.NewServer(coordinator.ServerOptions()...)
	coordinator.New(coordinator.Config{Store: st}).Register(server)
	healthgrpc.RegisterHealthServer(server, health.NewServer())
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	near := openSite(t, st)
	client, err := station.Dial(listener.Addr().String(), near.address)
	require.NoError(t, err)
	defer client.Close()
	call := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := client.Leases.Synchronize(ctx, &misstepv1.SynchronizeRequest{Runner: &misstepv1.Runner{Id: "r", Slots: 1}})
		return err
	}
	all := 0
	require.Eventually(t, func() bool {
		all++
		require.NoError(t, call())
		calls, _ := near.seen()
		return calls < all
	}, 10*time.Second, 10*time.Millisecond, "both are used")
	partition()
	began := time.Now()
	for range 4 {
		require.NoError(t, call(), "it goes to the other coordinator")
	}
	t.Logf("noticed after %v", time.Since(began))
	require.Less(t, time.Since(began), 9*time.Second)
}
