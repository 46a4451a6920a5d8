package options

import (
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	optionsv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/options/v1"
)

// maxFile bounds a file, in bytes.
const maxFile = 4 << 20

// Parse reads a file of options: mcp.options.v1.File as YAML, of which JSON is
// a part. The error says everything that is wrong, by paths.
func Parse(data []byte) (*Set, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("the options are longer than %d bytes", maxFile)
	}
	var value any
	if err := yaml.Unmarshal(data, &value); err != nil {
		return nil, err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("the options are no mapping of names: %w", err)
	}
	file := &optionsv1.File{}
	codec, err := transcode.New(file.ProtoReflect().Descriptor(), nil, transcode.Options{})
	if err != nil {
		return nil, err
	}
	wire, err := codec.AppendWire(nil, text)
	if e, ok := errors.AsType[*transcode.ArgumentError](err); ok {
		return nil, problems(e)
	}
	if err != nil {
		return nil, err
	}
	if err := proto.Unmarshal(wire, file); err != nil {
		return nil, err
	}
	return &Set{file}, nil
}

func problems(e *transcode.ArgumentError) error {
	var errs []error
	for _, v := range e.Violations {
		errs = append(errs, errors.New(v.String()))
	}
	if e.Truncated {
		errs = append(errs, errors.New("there may be more problems"))
	}
	return errors.Join(errs...)
}
