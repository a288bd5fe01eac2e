package recording

import (
	"context"
	"fmt"
)

// parser reads one chunk: which constants it defines, to which its events and constants refer, when its events ended, and those
// events that are records.
type parser struct {
	*file
	header header
	data   []byte
	// silent says that references are passed over.
	silent bool
	// none stands for the field of a constant that is a string.
	none field
	// entries, frames and bytes to compare that the chunk has needed.
	entries, frames, compared int
	slab                      []Event
	values                    values
	visitErr                  error
	// differences are those that were given; trace follows references instead of entering them.
	differences []differences
	trace       *tracer
}

type linkPlace struct {
	from  *typ
	field *field
}

// run reads the constants, then the events.
func (p *parser) run(ctx context.Context) *broken {
	chained, err := 0, p.describe(p.data, p.header.metadata, p.header.plain())
	if err == nil {
		chained, err = p.chain(ctx)
	}
	if err != nil {
		err.message = "constants: " + err.message
		return err
	}
	checkpoints, err := p.events(ctx)
	if err != nil || p.visitErr != nil || ctx.Err() != nil {
		return err
	}
	if checkpoints != chained {
		return brokenAt(headerConstants, "constants: %d checkpoints in the chunk, %d in the chain from the header",
			checkpoints, chained)
	}
	if err := p.pools(); err != nil {
		return err
	}
	p.windows()
	p.touched(ctx)
	return nil
}

// The places in the header of the offsets of the last checkpoint and of the metadata.
const (
	headerConstants = 16
	headerMetadata  = 24
)

// chain reads the checkpoints from the last one back. It returns how many there are. No two of them have bytes in common, so that
// all that is made of constants is bounded by the chunk's size.
func (p *parser) chain(ctx context.Context) (chained int, err *broken) {
	at, end := int64(0), len(p.data)
	for delta := p.header.constants; delta != 0 && ctx.Err() == nil; chained++ {
		at += delta
		if at < headerBytes || at >= int64(len(p.data)) {
			return chained, brokenAt(headerConstants, "the chain of checkpoints leads to %d", at)
		}
		if delta, err = p.checkpoint(int(at), end); err != nil {
			return chained, err
		}
		if delta > 0 {
			return chained, brokenAt(int(at), "the chain of checkpoints goes forward")
		}
		end = int(at)
	}
	return chained, nil
}

// checkpoint reads the constants of a checkpoint, which ends before the next one. It returns how far the one before it is away.
func (p *parser) checkpoint(position, end int) (delta int64, err *broken) {
	c := cursor{data: p.data[:end], at: position, plain: p.header.plain()}
	size := c.integer(intBytes)
	if c.long() != checkpointEvent {
		return 0, brokenAt(position, "the chain of checkpoints leads to another event")
	}
	c.long() // start
	c.long() // duration
	delta = int64(c.long())
	c.octet() // kind of the checkpoint
	for pools := c.count(); pools > 0 && c.err == nil; pools-- {
		id := c.long()
		t := p.types[id]
		if t == nil && c.err == nil {
			c.fail("the metadata has no type %d", id)
		}
		for constants := c.count(); constants > 0 && c.err == nil; constants-- {
			id := c.long()
			from := c.at
			p.constant(t, &c)
			p.define(t, id, from)
			p.bound(&c)
		}
	}
	if c.err == nil && uint64(c.at-position) != size {
		return 0, brokenAt(position, "a checkpoint of %d bytes has %d", size, c.at-position)
	}
	return delta, c.err
}

// bound fails where the chunk needs too much memory.
func (p *parser) bound(c *cursor) {
	if c.err == nil && p.entries > p.limits.entries {
		c.err = &broken{message: "the chunk defines and refers to too many constants", position: c.at, limit: true}
	}
}

// events reads the events up to the first broken one: where that ends is not known for certain.
func (p *parser) events(ctx context.Context) (checkpoints int, err *broken) {
	w := p.header.walk(p.data)
	n := 0
	for err == nil && p.visitErr == nil && w.advance() {
		switch w.kind {
		case checkpointEvent:
			checkpoints++
		case metadataEvent:
		default:
			if n%1024 == 0 && ctx.Err() != nil {
				return checkpoints, nil
			}
			if err = p.event(&w); err == nil {
				n++
			}
		}
	}
	if err == nil && w.next != len(p.data) && p.visitErr == nil {
		err = brokenAt(w.next, "no event begins here")
	}
	if err != nil {
		err.message = fmt.Sprintf("after %d events of the chunk: %s", n, err.message)
	}
	return checkpoints, err
}

// give passes a record on.
func (p *parser) give(r Record) {
	if p.visitErr == nil {
		p.visitErr = p.visit(r)
	}
}
