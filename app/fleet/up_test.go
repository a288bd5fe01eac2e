package fleet

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPutItems(t *testing.T) {
	all := []string{"PGPASSWORD", "tls.crt", "tls.key"}
	require.Equal(t, "`nomad var put -force -out none v PGPASSWORD=… tls.crt=@FILE tls.key=@FILE` writes all of it",
		putItems("v", all, []string{"tls.key"}), "no environment has a certificate")
	require.Equal(t, "`nomad var put -force -out none v PGPASSWORD=… tls.crt=@FILE tls.key=@FILE` writes all of it, "+
		"`--put-secrets` what the environment has of PGPASSWORD", putItems("v", all, []string{"PGPASSWORD", "tls.crt"}))
}
