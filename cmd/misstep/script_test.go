package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"misstep/app/station"
	"misstep/bundle"
	"misstep/corpus/localdir"
	"misstep/corpus/tree"
	"misstep/deploy/jdk"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
	"misstep/workloads"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"misstep": func() { main() },
	})
}

// TestScripts runs the command line as its users do: each script under testdata/script is a story with its files.
func TestScripts(t *testing.T) {
	home, agentDir, javac := testenv.Home(t), testenv.Agent(t), testenv.Javac(t)
	var s3 testenv.S3
	if testenv.HasS3() {
		s3 = testenv.StartS3(t)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("MISSTEP_HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("MISSTEP_AGENT", agentDir)
			e.Setenv("JAVAC", javac)
			e.Setenv("TMPDIR", e.WorkDir)
			e.Setenv("S3", "s3://"+s3.Bucket+"/"+filepath.Base(e.WorkDir)+"?endpoint="+s3.Endpoint)
			e.Setenv("AWS_ACCESS_KEY_ID", s3.AccessKey)
			e.Setenv("AWS_SECRET_ACCESS_KEY", s3.SecretKey)
			e.Setenv("BUNDLES", filepath.Join(testenv.Root(), "bundle", "testdata"))
			e.Setenv("TRIES", cmp.Or(os.Getenv("BUNDLE_TRIES"), "3")) // of a bundle's script; the goal is 10 of 10
			for _, name := range []string{"jdk17", "jdk25"} {
				entry, err := jdk.Open(home).Get(name)
				if err != nil {
					return err
				}
				e.Setenv(strings.ToUpper(name), entry.Path)
			}
			// A catalogue of its own with the JDKs of the shared one, so that a script may add to it.
			if err := os.MkdirAll(filepath.Join(e.WorkDir, "home", "jdks"), 0o755); err != nil {
				return err
			}
			for _, dir := range []string{"jdks", "workloads"} {
				if err := copyEntries(filepath.Join(home, dir), filepath.Join(e.WorkDir, "home", dir)); err != nil {
					return err
				}
			}
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "s3":
				return s3.Endpoint != "", nil
			case "sched_ext":
				_, err := os.Stat("/sys/kernel/sched_ext")
				return err == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"seed":     seedFindings,
			"lose":     loseFindings,
			"workload": buildWorkload,
			"code":     expectCode,
			"flip":     flipByte,
			"await":    awaitPort,
			"served":   awaitText,
			"finished": awaitCampaigns,
			"until":    awaitOutput,
			"plain":    plainUser,
			"small":    smallFile,
			"large":    largeBundle,
			"jtreg":    runJtreg,
		},
	})
}

// copyEntries copies the small files of a catalogue; the trees they name stay where they are.
func copyEntries(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}
		name := filepath.Join(from, entry.Name())
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(name)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// buildWorkload NAME compiles NAME/*.java of the script into a workload and adds it to the script's catalogue.
func buildWorkload(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: workload NAME")
	}
	dir := ts.MkAbs(args[0])
	sources, err := filepath.Glob(filepath.Join(dir, "*.java"))
	ts.Check(err)
	compile := exec.Command(ts.Getenv("JAVAC"), append([]string{"--release", "17", "-d", filepath.Join(dir, "classes")},
		sources...)...)
	if output, err := compile.CombinedOutput(); err != nil {
		ts.Fatalf("compile %s: %v\n%s", args[0], err, output)
	}
	ts.Check(ts.Exec("misstep", "workload", "add", dir))
}

// expectCode CODE COMMAND… runs a command and wants that exit code.
func expectCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code CODE COMMAND…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// flipByte FILE inverts one bit of the byte in the middle of a file.
func flipByte(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: flip FILE")
	}
	path := ts.MkAbs(args[0])
	data, err := os.ReadFile(path)
	ts.Check(err)
	data[len(data)/2] ^= 1
	ts.Check(os.WriteFile(path, data, 0o644))
}

// awaitPort ADDR waits until somebody listens there.
func awaitPort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await HOST:PORT")
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		conn, err := net.Dial("tcp", args[0])
		if err == nil {
			ts.Check(conn.Close())
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("nobody listens: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// awaitText URL PATTERN waits until a line that is served there matches.
func awaitText(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: served URL PATTERN")
	}
	line, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	get := func() ([]byte, error) {
		response, err := http.Get(args[0]) //nolint:noctx // bounded by the test
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		return io.ReadAll(response.Body)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		text, err := get()
		if err == nil && line.Match(text) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no %s at %s: %v\n%s", args[1], args[0], err, text)
		}
	}
}

// awaitCampaigns ADDR DURATION waits until no campaign of that coordinator runs.
func awaitCampaigns(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: finished HOST:PORT DURATION")
	}
	limit, err := time.ParseDuration(args[1])
	ts.Check(err)
	st, err := station.Dial(args[0])
	ts.Check(err)
	defer st.Close()
	deadline := time.Now().Add(limit)
	for {
		response, err := st.ListCampaigns(context.Background(), &misstepv1.ListCampaignsRequest{})
		ts.Check(err)
		running := false
		for _, s := range response.GetCampaigns() {
			running = running || s.GetState() == misstepv1.CampaignState_CAMPAIGN_STATE_RUNNING
		}
		if !running {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("still running after %v: %v", limit, response)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// awaitOutput DURATION PATTERN COMMAND… repeats a command until it succeeds and its output matches.
func awaitOutput(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: until DURATION PATTERN COMMAND…")
	}
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	wanted, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	for deadline := time.Now().Add(limit); ; time.Sleep(500 * time.Millisecond) {
		if err = ts.Exec(args[2], args[3:]...); err == nil && wanted.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no %s after %v: %v", args[1], limit, err)
		}
	}
}

// smallFile FILE BYTES wants a file of at most that size.
func smallFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: small FILE BYTES")
	}
	most, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if info.Size() > most {
		ts.Fatalf("%s has %d bytes, want at most %d", args[0], info.Size(), most)
	}
}

// largeBundle FILE.zip makes a bundle whose workload has a large file, which lies beside it, and the workload's folder
// FILE.zip.workload.
func largeBundle(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: large FILE.zip")
	}
	path := ts.MkAbs(args[0])
	workload := path + ".workload"
	ts.Check(os.MkdirAll(workload, 0o755))
	ts.Check(os.WriteFile(filepath.Join(workload, workloads.ManifestFile),
		[]byte("name: large\ndescription: one large file\njar: suite.jar\nharness: plain\nrepetitions: 1\n"), 0o644))
	ts.Check(os.WriteFile(filepath.Join(workload, "suite.jar"), bytes.Repeat([]byte("large suite "), bundle.ShareFrom/12+1), 0o644))
	tree, err := tree.Scan(workload)
	ts.Check(err)
	beside, err := localdir.New(filepath.Join(filepath.Dir(path), bundle.SharedDir))
	ts.Check(err)
	file, err := os.Create(path)
	ts.Check(err)
	ts.Check(bundle.Write(context.Background(), file, bundle.Contents{
		Reproducer: &misstepv1.Reproducer{
			Finding: &misstepv1.Finding{Id: "F00000000001a", Signature: &misstepv1.Signature{Kind: "hang"}},
			Recipe:  &misstepv1.Recipe{Workload: &misstepv1.Workload{Name: "large", Digest: tree.Digest().String()}},
		},
		Workload: workload, WorkloadSource: "https://example.org/suite-1.2.jar", Agent: ts.Getenv("MISSTEP_AGENT"), Shared: beside,
	}))
	ts.Check(file.Close())
}

// plainUser DIR COMMAND… runs a command in the new folder DIR as a user who may write nowhere else: nobody, when this is root.
func plainUser(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: plain DIR COMMAND…")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.Mkdir(dir, 0o755))
	command := exec.Command(ts.MkAbs(args[1]), args[2:]...)
	command.Dir, command.Env = dir, []string{"PATH=/usr/bin:/bin", "TMPDIR=" + dir}
	command.Stdout, command.Stderr = ts.Stdout(), ts.Stderr()
	if os.Getuid() == 0 {
		const nobody = 65534
		ts.Check(os.Chown(dir, nobody, nobody))
		command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		for _, above := range []string{ts.Getenv("WORK"), filepath.Dir(ts.Getenv("WORK"))} {
			ts.Check(os.Chmod(above, 0o755)) // testscript's own folders, closed to others
		}
	}
	ts.Check(command.Run())
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// runJtreg JDK DIR runs the jtreg tests in DIR on a JDK; a libWalkerTest.cpp there is built first. Its own exit code is 2 for
// failed tests.
func runJtreg(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: [!] jtreg JDK DIR")
	}
	jtreg, err := exec.LookPath("jtreg")
	if err != nil {
		ts.Fatalf("no jtreg (%v); deploy/setup/install.sh test installs it", err)
	}
	home, dir := args[0], ts.MkAbs(args[1])
	scratch, err := os.MkdirTemp(ts.Getenv("WORK"), "jtreg-")
	ts.Check(err)
	if library := filepath.Join(dir, "libWalkerTest.cpp"); exists(library) {
		ts.Check(ts.Exec("g++", "-std=c++17", "-fPIC", "-shared", "-I"+home+"/include", "-I"+home+"/include/linux", library,
			"-o", filepath.Join(scratch, "libWalkerTest.so")))
	}
	err = ts.Exec(jtreg, "-jdk:"+home, "-nativepath:"+scratch, "-w:"+scratch+"/work", "-r:"+scratch+"/report", "-verbose:fail", dir)
	if failed := err != nil && err.Error() == "exit status 2"; err != nil && !failed || failed != neg {
		ts.Fatalf("jtreg: %v", err)
	}
}

func TestHelpOfEveryCommand(t *testing.T) {
	for _, args := range []string{
		"", "hunt", "run", "replay", "campaign", "campaign submit", "campaign list", "campaign show", "campaign stop",
		"triage", "findings", "findings list", "findings show", "findings explain", "findings bundle",
		"reproduce", "reproduce list", "reproduce show", "reproduce cancel",
		"coordinator", "runner", "jdk", "jdk add", "jdk list", "jdk show", "jdk rm", "workload", "workload add", "workload list",
		"bundle", "bundle verify", "bundle show", "bundle unpack", "bundle diff", "bundle sign", "retest", "corpus", "corpus push",
		"corpus pull", "corpus import", "corpus export", "corpus list", "corpus gc", "doctor", "store", "store copy", "store vacuum",
		"store backup", "store restore",
	} {
		t.Run(args, func(t *testing.T) {
			var out, errs strings.Builder
			if code := run(context.Background(), append(strings.Fields(args), "--help"), &out, &errs); code != exitOK {
				t.Fatalf("exit code %d: %s", code, errs.String())
			}
			if !strings.Contains(out.String(), "Usage: misstep "+args) {
				t.Fatalf("no usage line in\n%s", out.String())
			}
		})
	}
}
