package blob

import (
	"errors"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/stretchr/testify/assert"
)

// A refusal names the bucket and what to check, whatever the object store's words are.
func TestARefusalSaysWhatToCheck(t *testing.T) {
	answer := minio.ErrorResponse{StatusCode: 403, Code: "AccessDenied", Message: "Access Denied.", BucketName: "blobs"}
	err := explained(answer)
	assert.Equal(t, "the object store refuses it (AccessDenied: Access Denied.): check the credentials (AWS_ACCESS_KEY_ID and "+
		"AWS_SECRET_ACCESS_KEY, or ~/.aws/credentials) and that they may read, write, list and delete in the bucket blobs",
		err.Error())
	_, ok := errors.AsType[minio.ErrorResponse](err)
	assert.True(t, ok)
}
