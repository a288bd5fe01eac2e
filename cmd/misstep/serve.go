package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"misstep/coordinator"
	"misstep/corpus"
	"misstep/runner"
	"misstep/runner/jvm"
	"misstep/runner/provision"
)

type coordinatorCommand struct {
	trust
	Listen    string        `help:"Address to serve on." default:"127.0.0.1:7867" placeholder:"HOST:PORT"`
	Dir       string        `help:"Folder of the store and the corpus; made when missing." required:"" type:"path" placeholder:"DIR"`
	LeaseTime time.Duration `help:"How long a runner may be silent before its trials go to another." default:"30s"`
}

// Run serves until it is interrupted.
func (c *coordinatorCommand) Run(ctx context.Context, e *env) error {
	trees, err := e.trees()
	if err != nil {
		return err
	}
	logger := e.servingLog()
	policy, err := c.policy()
	if err != nil {
		return err
	}
	s, err := open(c.Dir, coordinator.Config{Logger: logger, LeaseTime: c.LeaseTime, SyncInterval: c.LeaseTime / 10}, policy, trees...)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return errors.Join(fmt.Errorf("listen on %s: %w; choose another --listen", c.Listen, err), s.close())
	}
	if host, _, err := net.SplitHostPort(c.Listen); err == nil && !isLoopback(host) {
		logger.Warn("listening beyond this host: connections are neither encrypted nor authenticated, keep the network private",
			"listen", c.Listen)
	}
	logger.Info("coordinator serves", "listen", listener.Addr().String(), "dir", c.Dir)
	stop := context.AfterFunc(ctx, s.server.Stop)
	defer stop()
	err = s.server.Serve(listener)
	return errors.Join(err, s.close())
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

type runnerCommand struct {
	Coordinator string `help:"Address of the coordinator." required:"" placeholder:"HOST:PORT"`
	Slots       int    `help:"Trials at once (default: one for each CPU)." placeholder:"N"`
	Scratch     string `help:"Folder for the trials' temporary files (default: below the system's)." type:"path" placeholder:"DIR"`
}

// Run takes leases until it is interrupted or drained.
func (c *runnerCommand) Run(ctx context.Context, e *env) error {
	st, err := dial(c.Coordinator)
	if err != nil {
		return err
	}
	defer st.close()
	scratch := c.Scratch
	if scratch == "" {
		scratch = filepath.Join(os.TempDir(), fmt.Sprintf("misstep-runner-%d", os.Getuid()))
	}
	r, err := e.runner(ctx, st, c.Slots, scratch, true)
	if err != nil {
		return err
	}
	if err := r.Run(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil // drained, or interrupted: its trials go back to the queue
}

// minScratch in MiB must be free for a runner to ask for work: what one trial may write unless its recipe says otherwise.
const minScratch = 512

// runner makes the runner of real JVMs. verbose logs every trial.
func (e *env) runner(ctx context.Context, st *station, slots int, scratch string, verbose bool) (*runner.Runner, error) {
	executor, err := e.executor(st.blobs, scratch)
	if err != nil {
		return nil, err
	}
	if slots <= 0 {
		slots = runtime.NumCPU()
	}
	logger := e.warnings()
	if verbose {
		logger = e.servingLog()
	}
	if err := executor.Open(); err != nil { // reaps what a killed runner left in scratch
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("host name: %w", err)
	}
	routed, err := e.route(executor, "")
	if err != nil {
		return nil, err
	}
	clock := runner.SystemClock{}
	ready := runner.Require(routed,
		runner.Space("scratch space", scratch, minScratch),
		runner.Files("agent", executor.Agent.Library, executor.Agent.Jar),
		runner.Requirement{Name: "corpus of JDKs, workloads and evidence", Check: func(ctx context.Context) error {
			_, err := st.blobs.Missing(ctx, []corpus.Digest{corpus.DigestBytes(nil)})
			return err
		}},
	)
	return runner.New(runner.Config{
		Client:       st.leases,
		Executor:     runner.Log(runner.Stamp(runner.Recover(ready), clock, host), logger, clock),
		Slots:        slots,
		Host:         host,
		AgentDigest:  executor.Agent.Digest,
		Capabilities: e.capabilities(ctx, executor),
		Clock:        clock,
		Logger:       logger,
	})
}

// executor makes the executor of real JVMs: JDKs and workloads from the local catalogues, else from blobs.
func (e *env) executor(blobs corpus.Store, scratch string) (*jvm.Executor, error) {
	artefacts, err := e.agent()
	if err != nil {
		return nil, err
	}
	provider := e.provider(blobs)
	return &jvm.Executor{
		JDK:        provider.JDK,
		Workload:   provider.Workload,
		Agent:      artefacts,
		Corpus:     blobs,
		Scratch:    scratch,
		PatchCache: filepath.Join(e.home(), "cache", "patch"),
		Perturbers: perturbers(),
		Credential: ordinary(),
	}, nil
}

// provider finds JDKs and workloads in the local catalogues, else in blobs.
func (e *env) provider(blobs corpus.Source) *provision.Provider {
	return &provision.Provider{
		JDKs: e.jdks(), Workloads: e.workloads(), Corpus: blobs, Cache: filepath.Join(e.home(), "cache", "trees"),
	}
}
