package schema

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

const (
	typeString  = `"type":"string"`
	typeInteger = `"type":"integer"`
	typeBoolean = `"type":"boolean"`
	typeNull    = `"type":"null"`
	typeObject  = `"type":"object"`
	signed      = `"type":"string","pattern":"^-?[0-9]{1,19}$"`
	unsigned    = `"type":"string","pattern":"^[0-9]{1,20}$"`
	// floatOut covers what JSON numbers cannot express.
	floatOut = `"type":["number","string"],"pattern":"^(NaN|-?Infinity)$"`
	// anyJSON lists all six types: hosts that read a schema without a type
	// send a string.
	anyJSON = `"type":["object","array","string","number","boolean","null"],"items":{"description":"Any JSON value."}`
	// Models send plain text for bytes, and some of that is base64 by chance.
	base64Text = `Bytes in base64, such as aGVsbG8= for the text hello.`
	hexText    = `Bytes in hexadecimal, such as 68656c6c6f for the text hello.`
	// utf8Text also stands in schemas of results: only it tells what the prefix is.
	utf8Text = `Text, or ` + transcode.RawPrefix + ` and base64 for bytes that are not text.`
	// nullText stands at wrappers.
	nullText = "May be null."

	bytesValue protoreflect.FullName = "google.protobuf.BytesValue"
)

// bytesSchema returns the schema of bytes.
func bytesSchema(e transcode.Encoding, dir direction) *value {
	switch e {
	case transcode.UTF8:
		return &value{keywords: typeString, rule: utf8Text}
	case transcode.Hex:
		return &value{keywords: typeString + `,"contentEncoding":"base16"`, rule: when(dir != output, hexText)}
	default:
		return &value{keywords: typeString + `,"contentEncoding":"base64"`, rule: when(dir != output, base64Text)}
	}
}

// scalar returns the schema of a kind that is neither message nor enum.
func scalar(k protoreflect.Kind, dir direction) *value {
	switch k {
	case protoreflect.BoolKind:
		return &value{keywords: typeBoolean}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return &value{keywords: typeInteger}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return &value{keywords: typeInteger + `,"minimum":0`}
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return &value{keywords: signed}
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return &value{keywords: unsigned}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		if dir == output {
			return &value{keywords: floatOut}
		}
		return &value{keywords: `"type":"number"`}
	case protoreflect.BytesKind:
		return bytesSchema(transcode.Base64, dir)
	default: // StringKind; messages, groups and enums do not come here
		return &value{keywords: typeString}
	}
}

// special is a type whose JSON is not that of an ordinary message.
type special struct {
	// object is true where the JSON is an object all the same.
	object bool
	value  func(direction) *value
}

func fixed(v value) func(direction) *value {
	return func(direction) *value { return &v }
}

// explained is fixed with a note that only who writes the value needs.
func explained(keywords, note string) func(direction) *value {
	return func(dir direction) *value {
		return &value{keywords: keywords, note: when(dir == input, note)}
	}
}

func wrapperOf(k protoreflect.Kind) special {
	return special{value: func(dir direction) *value { return wrapper(scalar(k, dir), dir) }}
}

// wrapper returns the schema of a wrapper of what v is the schema of.
func wrapper(v *value, dir direction) *value {
	v.rule = join(v.rule, when(dir == input, nullText))
	return v
}

var wellKnown = map[protoreflect.FullName]special{
	"google.protobuf.Timestamp": {value: fixed(value{keywords: typeString + `,"format":"date-time"`})},
	"google.protobuf.Duration": {value: explained(typeString+`,"pattern":"^-?[0-9]+(\\.[0-9]{1,9})?s$"`,
		"Seconds with the suffix s, such as 1.5s.")},
	"google.protobuf.FieldMask": {value: fixed(value{keywords: typeString,
		rule: "Comma-separated paths of fields in lowerCamelCase, such as a.b,cD."})},
	"google.protobuf.Struct": {object: true, value: fixed(value{keywords: typeObject, rule: "Any JSON object."})},
	"google.protobuf.Value":  {value: fixed(value{keywords: anyJSON, rule: "Any JSON value."})},
	"google.protobuf.ListValue": {value: fixed(value{list: &value{keywords: anyJSON},
		rule: "Any JSON array."})},
	"google.protobuf.Any": {object: true, value: fixed(value{keywords: typeObject,
		rule: `A message of any type: "@type" holds its type URL, such as type.googleapis.com/google.rpc.ErrorInfo, ` +
			`beside the fields of the message, or beside "value" where its JSON is no object.`})},
	"google.protobuf.Empty":       {object: true, value: fixed(value{keywords: typeObject, rule: "An empty object."})},
	"google.protobuf.BoolValue":   wrapperOf(protoreflect.BoolKind),
	"google.protobuf.Int32Value":  wrapperOf(protoreflect.Int32Kind),
	"google.protobuf.UInt32Value": wrapperOf(protoreflect.Uint32Kind),
	"google.protobuf.Int64Value":  wrapperOf(protoreflect.Int64Kind),
	"google.protobuf.UInt64Value": wrapperOf(protoreflect.Uint64Kind),
	"google.protobuf.FloatValue":  wrapperOf(protoreflect.FloatKind),
	"google.protobuf.DoubleValue": wrapperOf(protoreflect.DoubleKind),
	"google.protobuf.StringValue": wrapperOf(protoreflect.StringKind),
	"google.protobuf.BytesValue":  wrapperOf(protoreflect.BytesKind),
}

// commonTypes explains ordinary messages that many APIs share. Descriptors
// that are linked in or come by reflection carry no comments.
var commonTypes = map[protoreflect.FullName]string{
	"google.type.CalendarPeriod":          "A period of the calendar.",
	"google.type.Color":                   "A colour in RGBA; each part from 0 to 1.",
	"google.type.Date":                    "A calendar date. A part that is 0 or absent is not significant.",
	"google.type.DateTime":                "A civil time; with utcOffset or timeZone a point in time.",
	"google.type.Decimal":                 "A decimal number as a string in value, such as 2.5e8.",
	"google.type.Expr":                    "An expression in the Common Expression Language.",
	"google.type.Fraction":                "A fraction: numerator over denominator.",
	"google.type.Interval":                "From startTime (inclusive) to endTime (exclusive).",
	"google.type.LatLng":                  "A latitude from -90 to 90 and a longitude from -180 to 180 degrees.",
	"google.type.LocalizedText":           "A text with its language code (BCP 47).",
	"google.type.Money":                   "An amount: currencyCode (ISO 4217), whole units and nanos (10^-9 units) of the same sign.",
	"google.type.Month":                   "A month.",
	"google.type.PhoneNumber":             "A telephone number: e164Number such as +15552220123, or shortCode.",
	"google.type.PostalAddress":           "A postal address; regionCode is a CLDR region such as DE.",
	"google.type.Quaternion":              "A rotation as a quaternion.",
	"google.type.TimeOfDay":               "A time of the day, without a date or a zone.",
	"google.type.TimeZone":                "A time zone: id from the IANA database, such as Europe/Paris.",
	"google.rpc.Status":                   "An error: code (google.rpc.Code), message and details.",
	"google.longrunning.Operation":        "A long-running operation: name, and once done either error or response.",
	"google.api.HttpBody":                 "Raw content: contentType and base64 data.",
	"google.protobuf.FileDescriptorSet":   "A set of compiled .proto files.",
	"google.protobuf.FileDescriptorProto": "A compiled .proto file.",
}

func when(cond bool, text string) string {
	if cond {
		return text
	}
	return ""
}
