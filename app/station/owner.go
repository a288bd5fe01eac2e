package station

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"

	"misstep/coordinator/store"
	"misstep/coordinator/store/stores"
)

// ownerName is the name of the note beside blobs, in a folder or a bucket, of whose they are: only the store with that identity
// knows which of them are needed. Its text is ownerLine, the identity, and where the store was, without a password.
const ownerName = "owner.txt"

const ownerLine = "misstep-store "

// owner is a store as a note names it.
type owner struct{ id, where string }

func (o owner) String() string { return fmt.Sprintf("%s (%s)", o.id, o.where) }

// ownerOf reads the note of a place; the zero value when there is none.
func ownerOf(ctx context.Context, p place) (owner, error) {
	text, err := p.note(ctx)
	if err != nil || text == "" {
		return owner{}, err
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), ownerLine)
	id, where, found := strings.Cut(rest, " ")
	if !ok || !found {
		return owner{}, fmt.Errorf("the note %s beside the blobs in %s is damaged, so nobody knows which store they belong to: "+
			"when it is the one of a coordinator, start that with --adopt-blobs", ownerName, p)
	}
	return owner{id, where}, nil
}

// claim makes sure that the blobs of a coordinator's folder belong to its store, which has that identity: when nobody has noted it
// yet, they do if the folder had this store and these blobs before, or if there are none. adopt gives them to the store in any
// case.
type claim struct {
	owner
	dir string
	// known is true when the folder had both this store and these blobs before this start.
	known, adopt bool
}

func (c claim) on(ctx context.Context, p place) error {
	have, err := ownerOf(ctx, p)
	switch {
	case c.adopt:
		return p.write(ctx, ownerLine+c.id+" "+c.where+"\n", true)
	case err != nil:
		return err
	case have.id == c.id:
		return nil
	case have.id != "":
		return notOwned(p, "belong to the store "+have.String(), c.owner)
	}
	if !c.known {
		if c.known, err = c.hadBefore(ctx, p); err != nil {
			return err
		}
	}
	if !c.known { // another process on the same store may have noted it since, and put blobs there
		return c.check(ctx, p)
	}
	err = p.write(ctx, ownerLine+c.id+" "+c.where+"\n", false)
	if errors.Is(err, fs.ErrExist) { // another process was faster; it may be on the same store
		return c.check(ctx, p)
	}
	return err
}

// hadBefore reports whether blobs without a note can only be those of the store: there are none, or the folder has a copy of it.
func (c claim) hadBefore(ctx context.Context, p place) (bool, error) {
	if empty, err := p.empty(ctx); err != nil || empty {
		return empty, err
	}
	if _, ok := p.(folderPlace); !ok || stores.InFolder(c.dir) != nil {
		return false, nil
	}
	copied, err := stores.Open(ctx, c.dir)
	if err != nil {
		return false, err
	}
	id, err := stores.Property(ctx, copied, store.PropertyID)
	return err == nil && id == c.id, errors.Join(err, copied.Close())
}

// check returns an error unless the note names the store: before anything is removed.
func (c claim) check(ctx context.Context, p place) error {
	have, err := ownerOf(ctx, p)
	switch {
	case err != nil:
		return err
	case have.id == "":
		return notOwned(p, "are of a store that is not known", c.owner)
	case have.id != c.id:
		return notOwned(p, "belong to the store "+have.String(), c.owner)
	}
	return nil
}

func notOwned(p place, whose string, want owner) error {
	return fmt.Errorf("the blobs in %s %s, not of the store %s, which does not know which of them are needed: give the --store "+
		"that they belong to, or another --dir or --blobs; if that store is gone for good, start the coordinator with "+
		"--adopt-blobs", p, whose, want)
}

// identify returns a store as notes name it.
func identify(ctx context.Context, st store.Store, url string) (owner, error) {
	id, err := stores.Property(ctx, st, store.PropertyID)
	if err == nil && id == "" {
		err = errors.New("a store in memory forgets which blobs are needed: give a folder, a file, or a database")
	}
	return owner{id, stores.Redacted(url)}, err
}

// earlier is what a coordinator's folder was before it is opened.
type earlier struct {
	// sameStore is true when it had the store that it is opened with now.
	sameStore bool
	// bucket is the location of its bucket; empty when it had none.
	bucket string
}

// lookAt returns what a folder was before it is opened with the store at a URL, empty for the folder's own. A folder whose store is
// elsewhere gets no second one.
func lookAt(dir, url string) (e earlier, err error) {
	noted := StoreElsewhere(dir)
	if url == "" && noted != "" {
		return e, elsewhere(dir, noted)
	}
	e.sameStore = noted == stores.Redacted(url) && (url != "" || stores.InFolder(dir) == nil)
	e.bucket, err = Bucket(dir)
	return e, err
}

// own checks whose the blobs of a coordinator's folder are, or notes that they are the store's, and where that is. It returns the
// check to be made again before blobs are removed.
func (e earlier) own(ctx context.Context, st store.Store, at Place, blobs Blobs, logger *slog.Logger) (
	check func(context.Context) error, err error,
) {
	who, err := identify(ctx, st, cmp.Or(at.Store, at.Dir))
	if err != nil {
		return nil, err
	}
	p := placeOf(at.Dir, blobs)
	c := claim{owner: who, dir: at.Dir, adopt: at.Adopt, known: e.sameStore && (blobs.Bucket == nil || e.bucket != "")}
	if err := c.on(ctx, p); err != nil {
		if !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
		logger.Warn("cannot note whose the blobs are; nothing will be removed", slog.Any("error", err))
	}
	return func(ctx context.Context) error { return c.check(ctx, p) }, noteStore(at.Dir, at.Store)
}

// CheckOwner returns an error when the blobs of a coordinator's folder are known to belong to another store than st, which errors
// call by its URL.
func CheckOwner(ctx context.Context, st store.Store, url, dir string, blobs Blobs) error {
	who, err := identify(ctx, st, url)
	if err != nil {
		return err
	}
	p := placeOf(dir, blobs)
	have, err := ownerOf(ctx, p)
	if err == nil && have.id != "" && have.id != who.id {
		err = notOwned(p, "belong to the store "+have.String(), who)
	}
	return err
}

// placeOf returns where the blobs of a coordinator's folder are.
func placeOf(dir string, blobs Blobs) place {
	if blobs.Bucket != nil {
		return bucketPlace{blobs.Bucket}
	}
	return folderPlace(BlobsPath(dir))
}
