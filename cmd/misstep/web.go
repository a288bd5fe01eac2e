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

// site returns the pages on a station. asks reports whether the coordinator asks who calls, place is how a command reaches it.
func (f webFlags) site(e *env, st *station.Station, asks, secure bool, place string) *web.Site {
	writer := bundles.Writer{Installation: e.installation(), Station: st, SigningKey: e.cli.SigningKey, Embed: true}
	return web.New(web.Options{
		Conn: st.Conn, Blobs: st.Blobs, Asks: asks, Writable: f.WebWritable, TLS: secure, Place: place, Logger: e.warnings(),
		Bundle: func(ctx context.Context, finding, path string) error { return writer.Finding(ctx, finding, path, "") },
	})
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
	url, stop, err := flags.site(e, st, false, false, "--dir "+shellWord(shortPath(c.Dir))).Start(c.Listen, nil)
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
