package jdk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/catalogue"
)

func TestParseFlags(t *testing.T) {
	require.Equal(t, map[string]string{
		"AbortVMOnCompilationFailure": "diagnostic", "AOTLibrary": "experimental", "Inline": "product",
		"IncrementalInline":     "product",
		"ReservedCodeCacheSize": "product", "UseCompressedOops": "product", "VMContinuations": "experimental",
		"MaxInlineLevel": "product",
	}, parseFlags(`[Global flags]
     bool AbortVMOnCompilationFailure               = false                               {diagnostic}
ccstrlist AOTLibrary                               =                                      {experimental} {default}
     bool IncrementalInline                         = true                                {C2 product}
     bool Inline                                    = true                                {product}
    uintx ReservedCodeCacheSize                     = 251658240                           {pd product} {ergonomic}
     bool UseCompressedOops                        := true                                {product lp64_product} {ergonomic}
     bool VMContinuations                           = true                                {pd experimental} {default}
     intx MaxInlineLevel                           := 0                                   {C2 product} {command line}
openjdk version "25.0.3" 2026-04-21 LTS
`))
}

// TestFlagsAreStored queries the JVM once; a record without flags is completed.
func TestFlagsAreStored(t *testing.T) {
	known := Open(t.TempDir())
	home := fakeJDK(t)
	_, err := known.Add(t.Context(), "fake", home, AddOptions{})
	require.NoError(t, err)
	want := map[string]string{"UseZGC": "product", "GuaranteedSafepointInterval": "diagnostic"}
	r, err := known.entries.Get("fake")
	require.NoError(t, err)
	require.Equal(t, want, r.Flags)

	r.Flags = nil
	require.NoError(t, known.entries.Put(r))
	flags, err := known.Flags(t.Context(), "fake")
	require.NoError(t, err)
	require.Equal(t, want, flags)
	require.NoError(t, os.Remove(filepath.Join(home, "bin", "java")))
	flags, err = known.Flags(t.Context(), "fake")
	require.NoError(t, err, "stored, not queried again")
	require.Equal(t, want, flags)
	_, err = known.Flags(t.Context(), "other")
	require.ErrorIs(t, err, catalogue.ErrUnknown)
}
