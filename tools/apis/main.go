// Command apis writes a FileDescriptorSet of the APIs that it links in to
// standard output: the test material of package realapis. It is a module of its
// own because nothing else needs these packages.
//
// The files of etcd import each other by paths under which nobody has registered
// them; they are in the set just so.
//
// Left out are the APIs of the Cosmos SDK: their module, cosmossdk.io/api, is
// not to be had from the module proxy, and the SDK itself links hundreds of
// packages. Of Envoy there is what its services need, 108 files of some 650: to
// compile its extensions takes longer than all else, which is 40 s on two cores.
package main

import (
	"fmt"
	"os"

	_ "cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	_ "cloud.google.com/go/bigtable/apiv2/bigtablepb"
	_ "cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	_ "cloud.google.com/go/spanner/admin/instance/apiv1/instancepb"
	_ "cloud.google.com/go/spanner/apiv1/spannerpb"
	_ "github.com/authzed/authzed-go/proto/authzed/api/v1"
	_ "github.com/containerd/containerd/api/services/containers/v1"
	_ "github.com/containerd/containerd/api/services/content/v1"
	_ "github.com/containerd/containerd/api/services/events/v1"
	_ "github.com/containerd/containerd/api/services/images/v1"
	_ "github.com/containerd/containerd/api/services/introspection/v1"
	_ "github.com/containerd/containerd/api/services/leases/v1"
	_ "github.com/containerd/containerd/api/services/namespaces/v1"
	_ "github.com/containerd/containerd/api/services/sandbox/v1"
	_ "github.com/containerd/containerd/api/services/snapshots/v1"
	_ "github.com/containerd/containerd/api/services/tasks/v1"
	_ "github.com/containerd/containerd/api/services/transfer/v1"
	_ "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	_ "github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	_ "github.com/openfga/api/proto/openfga/v1"
	_ "github.com/qdrant/go-client/qdrant"
	_ "go.etcd.io/etcd/api/v3/etcdserverpb"
	_ "go.temporal.io/api/operatorservice/v1"
	_ "go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	_ "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func main() {
	set := new(descriptorpb.FileDescriptorSet)
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		set.File = append(set.File, protodesc.ToFileDescriptorProto(file))
		return true
	})
	data, err := proto.Marshal(set)
	if err == nil {
		_, err = os.Stdout.Write(data)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
