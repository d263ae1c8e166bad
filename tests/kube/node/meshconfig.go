// Reads the configuration of a mesh (JSON, on standard input) as Istio does: an unknown or wrong field is an error.
package main

import (
	"fmt"
	"io"
	"os"

	"google.golang.org/protobuf/encoding/protojson"
	mesh "istio.io/api/mesh/v1alpha1"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = protojson.Unmarshal(text, &mesh.MeshConfig{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
