// Package misstepv1 holds the messages that the parts of Misstep exchange and store, and their canonical text.
package misstepv1

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Canonical returns the canonical text of a message: its protobuf JSON form with field names as in the .proto files, keys
// sorted, two spaces of indentation and a final newline. The text is also YAML. Equal messages have equal texts, whichever
// version of the library wrote them, so digests are taken of this text and never of proto.Marshal's output.
func Canonical(m proto.Message) ([]byte, error) {
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write %s as JSON: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	// protojson varies its white space on purpose; decoding and encoding with encoding/json fixes order and spacing. Numbers keep
	// their text, so that no 64-bit value is converted to a float.
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("read %s back from JSON: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(tree); err != nil {
		return nil, fmt.Errorf("write canonical %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return out.Bytes(), nil
}

// CanonicalRecipe returns the canonical text of a recipe. It includes the names and versions that are only for people, so that
// reading it gives the same recipe.
func CanonicalRecipe(r *Recipe) ([]byte, error) { return Canonical(r) }

// RecipeDigest returns the identity of a recipe: "sha256:" and the SHA-256 of its canonical text in hex.
func RecipeDigest(r *Recipe) (string, error) {
	text, err := CanonicalRecipe(r)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
