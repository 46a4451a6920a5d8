package descriptor_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
)

// Sources may import what many APIs do, with nothing but themselves at hand.
func TestCommonImports(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("imports.binpb")
	if err != nil {
		t.Fatal(err)
	}
	common := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(data, common); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, fd := range common.GetFile() {
		names = append(names, fd.GetName())
	}
	for _, name := range []string{
		"buf/validate/validate.proto", "google/api/annotations.proto", "google/api/client.proto", "google/api/field_behavior.proto",
		"google/api/field_info.proto", "google/api/httpbody.proto", "google/api/metric.proto", "google/api/resource.proto", "google/api/routing.proto",
		"google/api/visibility.proto", "google/longrunning/operations.proto", "google/rpc/code.proto", "google/rpc/context/attribute_context.proto",
		"google/rpc/error_details.proto", "google/rpc/http.proto", "google/rpc/status.proto", "google/type/calendar_period.proto", "google/type/color.proto",
		"google/type/date.proto", "google/type/datetime.proto", "google/type/dayofweek.proto", "google/type/decimal.proto", "google/type/expr.proto",
		"google/type/fraction.proto", "google/type/interval.proto", "google/type/latlng.proto", "google/type/localized_text.proto", "google/type/money.proto",
		"google/type/month.proto", "google/type/phone_number.proto", "google/type/postal_address.proto", "google/type/quaternion.proto",
		"google/type/timeofday.proto", "protoc-gen-openapiv2/options/annotations.proto", "protoc-gen-openapiv2/options/openapiv2.proto", "validate/validate.proto",
	} {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	texts := make(map[string]string)
	for _, name := range names {
		pkg := strings.NewReplacer("/", ".", "-", "_").Replace("test." + strings.TrimSuffix(name, ".proto"))
		texts[pkg+".proto"] = source(pkg, name)
	}
	set, err := descriptor.ProtoSources([]string{write(t, texts)}, nil).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Services()) < len(names) {
		t.Errorf("%d services, want one for each of %d imports", len(set.Services()), len(names))
	}
}

// A file that is missing is taken from the common imports, an own copy of it is
// not replaced, and options of the imports are read.
func TestUseOfCommonImports(t *testing.T) {
	t.Parallel()
	set, err := loadFiles(t, using(file("a.proto", "a", "A", "google/type/money.proto"), ".google.type.Money"))
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Services()[0].Methods().Get(0).Input(); got.Fields().ByName("currency_code") == nil {
		t.Errorf("the request is %v", got)
	}
	if set.Message("google.type.Money") == nil {
		t.Error("the set lacks the message")
	}
	own := file("google/type/money.proto", "google.type", "Money")
	set, err = loadFiles(t, using(file("a.proto", "a", "A", "google/type/money.proto"), ".google.type.Money"), own)
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Services()[0].Methods().Get(0).Input(); got.Fields().Len() != 0 {
		t.Errorf("the request is %v", got)
	}
}
