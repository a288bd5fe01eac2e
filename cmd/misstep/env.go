package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"reflect"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"misstep/app/local"
	"misstep/internal/home"
	misstepv1 "misstep/proto/misstep/v1"
)

// env is passed to every command: the global options and the output streams.
type env struct {
	cli            *cli
	stdout, stderr io.Writer
}

// installation is what --home and --agent select.
func (e *env) installation() local.Installation {
	dir := cmp.Or(e.cli.Home, home.Dir())
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs // JVMs run in folders of their own
	}
	return local.Installation{Home: dir, AgentDir: e.cli.Agent}
}

// say prints a line of progress on stderr.
func (e *env) say(format string, args ...any) { fmt.Fprintf(e.stderr, format+"\n", args...) }

// warnings logs what needs attention, as plain lines on stderr.
func (e *env) warnings() *slog.Logger { return newLogger(e.stderr, slog.LevelWarn) }

// info logs what long-running services do.
func (e *env) info() *slog.Logger { return newLogger(e.stderr, slog.LevelInfo) }

// json prints a value as JSON indented by two spaces; a proto message in its canonical form.
func (e *env) json(v any) error {
	if m, ok := v.(proto.Message); ok {
		text, err := misstepv1.Canonical(m)
		if err != nil {
			return err
		}
		_, err = e.stdout.Write(text)
		return err
	}
	if list := reflect.ValueOf(v); list.Kind() == reflect.Slice && list.IsNil() {
		v = []struct{}{} // an empty list is [], not null
	}
	return writeJSON(e.stdout, v)
}

// writeJSON writes a value as JSON indented by two spaces.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// raw embeds a proto message in a JSON value, in its canonical form.
type raw struct{ proto.Message }

// MarshalJSON writes the message's canonical JSON.
func (r raw) MarshalJSON() ([]byte, error) {
	return protojson.MarshalOptions{UseProtoNames: true}.Marshal(r.Message)
}

func raws[M proto.Message](ms []M) []raw {
	out := make([]raw, 0, len(ms))
	for _, m := range ms {
		out = append(out, raw{m})
	}
	return out
}
