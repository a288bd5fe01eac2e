package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"misstep/app/bundles"
	"misstep/app/station"
	"misstep/app/web"
	"misstep/coordinator"
)

// webFlags serve pages beside what a command does.
type webFlags struct {
	Web         string `address:"HOST:PORT" help:"Serve pages for a browser on this address (default: nowhere)." placeholder:"HOST:PORT"`
	WebWritable bool   `help:"Let pages change things, too, although nobody is asked to log in."`
}

// options of the pages on a station that a command reaches at a place.
func (f webFlags) options(e *env, st *station.Station, place string) web.Options {
	writer := bundles.Writer{Installation: e.installation(), Station: st, SigningKey: e.cli.SigningKey, Embed: true}
	return web.Options{
		Conn: st.Conn, Blobs: st.Blobs, Writable: f.WebWritable, Place: place, Logger: e.warnings(),
		Bundle: func(ctx context.Context, finding, path string) error { return writer.Finding(ctx, finding, path, "") },
	}
}

// ofFolder returns the pages on a folder of this machine, whose runners are here, too.
func (f webFlags) ofFolder(e *env, st *station.Station, dir string) *web.Site {
	o, own := f.options(e, st, "--dir "+shellWord(shortPath(dir))), e.installation()
	o.Own = &own
	return web.New(o)
}

// start serves the pages, if they are asked for, until stop is called. url is empty without.
func (f webFlags) start(site *web.Site, secure *tls.Config) (url string, stop func(), err error) {
	if f.Web == "" {
		return "", func() {}, nil
	}
	url, stop, err = site.Start(f.Web, secure)
	if err != nil {
		return "", nil, fmt.Errorf("--web: %w", err)
	}
	return url, stop, nil
}

type webCommand struct {
	Dir         string `help:"Folder of a hunt or coordinator." required:"" type:"path" placeholder:"DIR"`
	Listen      string `address:"HOST:PORT" help:"Address of this host to serve on." default:"127.0.0.1:7868" placeholder:"HOST:PORT"`
	WebWritable bool   `help:"Let pages change things, too, although nobody is asked to log in."`
}

// Run serves pages until it is interrupted.
func (c *webCommand) Run(ctx context.Context, e *env) error {
	st, err := station.OpenDir(c.Dir, coordinator.Config{Logger: e.warnings()})
	if err != nil {
		return err
	}
	defer st.Close()
	flags := webFlags{Web: c.Listen, WebWritable: c.WebWritable}
	url, stop, err := flags.ofFolder(e, st, c.Dir).Start(c.Listen, nil)
	if opError, ok := errors.AsType[*net.OpError](err); ok && opError.Op == "listen" {
		return fmt.Errorf("%w (--listen)", err)
	}
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer stop()
	fmt.Fprintln(e.stdout, url)
	<-ctx.Done()
	return nil
}
