package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"

	"misstep/deploy/nomad"
)

// maxPackage is far above the size of a package.
const maxPackage = 8 << 30

// checkArtefact reads the package from the web server and returns an error if it is not there, or is another. A server that this
// machine may not read may be read by the nodes.
func (c *Cluster) checkArtefact(ctx context.Context, digest string) error {
	folder := c.Fleet.GetArtefacts().GetUrl()
	if folder == "" {
		return nil
	}
	name := nomad.PackageName(digest)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(folder, "/")+"/"+name, http.NoBody)
	if err != nil {
		return fmt.Errorf("artefacts.url: %w", err)
	}
	request.Header.Set("Accept-Encoding", "identity") // the digest is that of the compressed file
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		if ctx.Err() == nil {
			c.Say("not checked: this machine does not reach the package, the nodes must: %v", err)
		}
		return context.Cause(ctx)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusGone:
		return fmt.Errorf("%s has no %s: `misstep fleet package -o DIR` makes it, put it there", folder, name)
	default:
		c.Say("not checked: %s answers %q to this machine, the nodes must get the package", request.URL, response.Status)
		return nil
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(response.Body, maxPackage)); err != nil {
		return fmt.Errorf("read %s: %w", request.URL, cmp.Or(context.Cause(ctx), err))
	}
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != digest {
		return fmt.Errorf("%s is damaged: its digest is %s; put what `misstep fleet package -o DIR` writes there again", request.URL, got)
	}
	return nil
}
