// Command guest is process 1 of Misstep's virtual machines: it sets up the guest, runs one command, sends its output and evidence
// to the host, and powers off.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"misstep/deploy/vm/wire"
)

func main() {
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "guest: this is the init of a virtual machine; misstep vm run starts it")
		os.Exit(2)
	}
	if err := run(); err != nil {
		// The console is the only channel when the port could not be opened; the host shows its end.
		fmt.Fprintln(os.Stderr, "guest:", err)
	}
	unix.Sync()
	err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	fmt.Fprintln(os.Stderr, "guest: power off:", err)
	for {
		// Process 1 must not end: the kernel would panic. The host's limit ends the machine.
		time.Sleep(time.Hour)
	}
}

// run does everything between boot and power-off. It returns those errors that could not be reported to the host.
func run() error {
	if err := mountFirst(); err != nil {
		return err
	}
	port, err := openPort()
	if err != nil {
		return err
	}
	exit, err := execute(port)
	if err != nil {
		exit.Failure = err.Error()
	}
	return port.send(wire.KindExit, wire.Encode(exit))
}

func execute(port *port) (wire.Exit, error) {
	if err := port.send(wire.KindHello, []byte{wire.Version}); err != nil {
		return wire.Exit{}, err
	}
	job, err := readJob()
	if err != nil {
		return wire.Exit{}, err
	}
	if err := setUp(job); err != nil {
		return wire.Exit{}, err
	}
	exit, err := runCommand(job, port)
	if err != nil {
		return exit, err
	}
	return exit, collect(job, port)
}

func readJob() (wire.Job, error) {
	data, err := os.ReadFile(wire.JobPath)
	if err != nil {
		return wire.Job{}, fmt.Errorf("reading the job: %w", err)
	}
	var job wire.Job
	if err := json.Unmarshal(data, &job); err != nil {
		return wire.Job{}, fmt.Errorf("reading the job: %w", err)
	}
	if job.Version != wire.Version {
		return wire.Job{}, fmt.Errorf("the job is of version %d, this guest of %d: %w", job.Version, wire.Version, wire.ErrVersion)
	}
	if len(job.Command) == 0 {
		return wire.Job{}, errors.New("the job has no command")
	}
	return job, nil
}
