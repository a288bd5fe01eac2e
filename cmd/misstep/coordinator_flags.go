package main

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	"misstep/app/station"
	"misstep/coordinator"
	"misstep/coordinator/access"
	misstepv1 "misstep/proto/misstep/v1"
)

// coordinatorFlags choose the coordinator that a command talks to, and the project there.
type coordinatorFlags struct {
	placeFlags
	Project string `help:"Project to work in; nothing of other projects is shown." env:"MISSTEP_PROJECT" placeholder:"NAME"`
}

func (f coordinatorFlags) open(e *env) (*station.Station, error) {
	return f.placeFlags.open(e, access.DialOptions(f.Project)...)
}

// placeFlags choose the coordinator of a command that is about no project.
type placeFlags struct {
	Coordinator []string `address:"HOST:PORT" help:"Address of a running coordinator, or of several on one store." placeholder:"HOST:PORT" xor:"coordinator"`
	tlsFlags
	Dir string `help:"Folder of a hunt or coordinator, opened directly." type:"path" placeholder:"DIR" xor:"coordinator"`
}

// open connects with further options.
func (f placeFlags) open(e *env, further ...grpc.DialOption) (*station.Station, error) {
	switch {
	case len(f.Coordinator) > 0:
		options, err := f.dial(e.warnings())
		if err != nil {
			return nil, err
		}
		return station.DialWith(append(options, further...), f.Coordinator...)
	case f.Dir != "":
		return station.OpenDir(f.Dir, coordinator.Config{Logger: e.warnings()}, further...)
	}
	return nil, errors.New("give --coordinator HOST:PORT or --dir DIR")
}

// finding gets the finding with that id or prefix of one, of another project if that is not empty.
func (f coordinatorFlags) finding(ctx context.Context, e *env, id, project string) (*misstepv1.Finding, error) {
	st, err := f.open(e)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	response, err := st.GetFinding(ctx, &misstepv1.GetFindingRequest{FindingId: id, Project: project})
	return response.GetFinding(), err
}

// trustFlags decide whose bundles a command accepts.
type trustFlags struct {
	Signers string `help:"Trusted keys in the format of OpenSSH's allowed_signers: bundles signed by none of them are refused." env:"MISSTEP_SIGNERS" type:"path" placeholder:"FILE"`
}

// embedFlags decide where the large files of a bundle's workload go.
type embedFlags struct {
	Embed bool `help:"Write each bundle as one file: large files of workloads, otherwise in the folder shared beside it, go into it."`
}
