// Package wire reads fields of messages in the protobuf wire format where there
// is no type for them, or no need of one.
package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// EachBytes hands the length-delimited fields of a message to visit, in order:
// strings, bytes and messages. Values point into b. Other fields are skipped.
// The error is visit's, which ends the reading, or says that b is no message.
func EachBytes(b []byte, visit func(num protowire.Number, value []byte) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return malformed(n)
		}
		b = b[n:]
		if typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
				return malformed(n)
			}
			b = b[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return malformed(n)
		}
		b = b[n:]
		if err := visit(num, value); err != nil {
			return err
		}
	}
	return nil
}

func malformed(n int) error {
	return fmt.Errorf("no protobuf message: %w", protowire.ParseError(n))
}
