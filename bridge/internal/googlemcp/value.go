package googlemcp

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
)

// value converts the values of a field, or the elements of a list. A conversion
// returns false where the other side has no such value. There is one for each
// [direction].
type value [2]func(*converter, protoreflect.Value) (protoreflect.Value, bool)

func same(_ *converter, v protoreflect.Value) (protoreflect.Value, bool) { return v, true }

// newValue returns how a value of one type becomes one of another. It returns
// none for two messages that have a plan.
func newValue(google, mcp protoreflect.FieldDescriptor) (value, error) {
	switch from, to := google.Kind(), mcp.Kind(); {
	case from == protoreflect.MessageKind:
		return newMessageValue(google, mcp)
	case from == protoreflect.EnumKind && to == protoreflect.EnumKind:
		return newEnumValue(google.Enum(), mcp.Enum())
	case from == protoreflect.BytesKind && to == from:
		return value{toGoogle: same, toMCP: func(c *converter, v protoreflect.Value) (protoreflect.Value, bool) {
			return protoreflect.ValueOfBytes(c.bytes(v.Bytes())), true
		}}, nil
	case from == protoreflect.FloatKind && to == protoreflect.DoubleKind:
		return floatValue, nil
	case from == protoreflect.Uint64Kind && to == protoreflect.Int64Kind:
		return unsignedValue, nil
	case from == protoreflect.Int32Kind && to == protoreflect.Int64Kind:
		return shortValue, nil
	case from == protoreflect.Int64Kind && to == from:
		return value{toGoogle: positive, toMCP: positive}, nil
	case from == to:
		return value{toGoogle: same, toMCP: same}, nil
	default:
		return value{}, fmt.Errorf("%s is no counterpart for a %s", mcp.FullName(), from)
	}
}

var (
	floatValue = value{
		toGoogle: func(_ *converter, v protoreflect.Value) (protoreflect.Value, bool) {
			return protoreflect.ValueOfFloat32(float32(v.Float())), true
		},
		toMCP: func(_ *converter, v protoreflect.Value) (protoreflect.Value, bool) {
			return protoreflect.ValueOfFloat64(double(float32(v.Float()))), true
		},
	}
	unsignedValue = value{
		toGoogle: func(_ *converter, v protoreflect.Value) (protoreflect.Value, bool) {
			return protoreflect.ValueOfUint64(uint64(max(v.Int(), 0))), v.Int() > 0
		},
		toMCP: func(_ *converter, v protoreflect.Value) (protoreflect.Value, bool) {
			return protoreflect.ValueOfInt64(int64(min(v.Uint(), math.MaxInt64))), true
		},
	}
	shortValue = value{
		toGoogle: func(_ *converter, v protoreflect.Value) (protoreflect.Value, bool) {
			return protoreflect.ValueOfInt32(int32(min(max(v.Int(), 0), math.MaxInt32))), true
		},
		toMCP: func(_ *converter, v protoreflect.Value) (protoreflect.Value, bool) {
			return protoreflect.ValueOfInt64(max(v.Int(), 0)), true
		},
	}
)

// positive passes numbers of which those below 1 are none.
func positive(_ *converter, v protoreflect.Value) (protoreflect.Value, bool) { return v, v.Int() > 0 }

// double returns the number that people have meant: 0.1 is another one as a
// float than as a double.
func double(f float32) float64 {
	d, err := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'g', -1, 32), 64)
	if err != nil { // the text of a float always is one
		return float64(f)
	}
	return d
}

const (
	structName   = "google.protobuf.Struct"
	valueName    = "google.protobuf.Value"
	durationName = "google.protobuf.Duration"
)

func newMessageValue(google, mcp protoreflect.FieldDescriptor) (value, error) {
	switch from := google.Message().FullName(); {
	case from == durationName && mcp.Kind() == protoreflect.Int64Kind:
		return durationValue, nil
	case mcp.Message() == nil:
		return value{}, fmt.Errorf("%s is no counterpart for a %s", mcp.FullName(), from)
	case from == mcp.Message().FullName():
		return value{toGoogle: same, toMCP: same}, nil
	case from == structName && mcp.Message().FullName() == valueName:
		return objectValue, nil
	default:
		return value{}, nil
	}
}

var objectValue = value{
	toGoogle: func(_ *converter, v protoreflect.Value) (protoreflect.Value, bool) {
		s := objectOf(v.Message())
		return protoreflect.ValueOfMessage(s.ProtoReflect()), s != nil
	},
	toMCP: func(_ *converter, v protoreflect.Value) (protoreflect.Value, bool) {
		s, ok := v.Message().Interface().(*structpb.Struct)
		return protoreflect.ValueOfMessage(structpb.NewStructValue(s).ProtoReflect()), ok
	},
}

// durationValue is milliseconds. A duration of Go is 290 years at most.
var durationValue = value{
	toGoogle: func(_ *converter, v protoreflect.Value) (protoreflect.Value, bool) {
		millis := min(max(v.Int(), 0), math.MaxInt64/int64(time.Millisecond))
		return protoreflect.ValueOfMessage(durationpb.New(time.Duration(millis) * time.Millisecond).ProtoReflect()), true
	},
	toMCP: func(_ *converter, v protoreflect.Value) (protoreflect.Value, bool) {
		d, ok := v.Message().Interface().(*durationpb.Duration)
		return protoreflect.ValueOfInt64(max(d.AsDuration().Milliseconds(), 0)), ok
	},
}

// newEnumValue pairs the values of two enums by their names, which end in the
// same words. The first value of each is none.
func newEnumValue(google, mcp protoreflect.EnumDescriptor) (value, error) {
	numbers := [2]map[protoreflect.EnumNumber]protoreflect.EnumNumber{{}, {}}
	for i := range google.Values().Len() {
		v := google.Values().Get(i)
		name := strings.TrimPrefix(string(v.Name()), "TYPE_")
		for j := range mcp.Values().Len() {
			other := mcp.Values().Get(j)
			if v.Number() != 0 && (string(other.Name()) == name || strings.HasSuffix(string(other.Name()), "_"+name)) {
				numbers[toMCP][v.Number()], numbers[toGoogle][other.Number()] = other.Number(), v.Number()
			}
		}
		if _, ok := numbers[toMCP][v.Number()]; !ok && v.Number() != 0 {
			return value{}, fmt.Errorf("%s has no value %s", mcp.FullName(), name)
		}
	}
	by := func(numbers map[protoreflect.EnumNumber]protoreflect.EnumNumber) func(*converter, protoreflect.Value) (protoreflect.Value, bool) {
		return func(_ *converter, v protoreflect.Value) (protoreflect.Value, bool) {
			n, ok := numbers[v.Enum()]
			return protoreflect.ValueOfEnum(n), ok
		}
	}
	return value{toGoogle: by(numbers[toGoogle]), toMCP: by(numbers[toMCP])}, nil
}
