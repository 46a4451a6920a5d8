package main

import (
	"errors"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

// Codes of JSON-RPC and MCP.
const (
	codeInvalidParams     = -32602
	codeInternal          = -32603
	codeMissingCapability = -32021
)

// failure is an error of MCP as a status, which has the error in its details.
func failure(code connect.Code, rpc *mcpv1.JsonRpcError) error {
	status := connect.NewError(code, errors.New(rpc.GetMessage()))
	if detail, err := connect.NewErrorDetail(rpc); err == nil {
		status.AddDetail(detail)
	}
	return status
}

// invalid is the error for parameters that make no sense.
func invalid(format string, args ...any) error {
	return failure(connect.CodeInvalidArgument, &mcpv1.JsonRpcError{Code: codeInvalidParams, Message: fmt.Sprintf(format, args...)})
}

// unknownResource is the error for a resource that is not there.
func unknownResource(uri string) error {
	return failure(connect.CodeNotFound, &mcpv1.JsonRpcError{
		Code:    codeInvalidParams,
		Message: "there is no such resource",
		DataForm: &mcpv1.JsonRpcError_Data{Data: structpb.NewStructValue(&structpb.Struct{
			Fields: map[string]*structpb.Value{"uri": structpb.NewStringValue(uri)},
		})},
	})
}

// missing is the error for a client that has not declared what a request needs.
func missing(required *mcpv1.ClientCapabilities) error {
	return failure(connect.CodeFailedPrecondition, &mcpv1.JsonRpcError{
		Code:    codeMissingCapability,
		Message: "the client has not declared a capability that this request needs",
		DataForm: &mcpv1.JsonRpcError_MissingRequiredClientCapability{
			MissingRequiredClientCapability: &mcpv1.MissingRequiredClientCapabilityData{RequiredCapabilities: required},
		},
	})
}

// needsTasks returns an error where a client has not declared the extension for
// tasks.
func needsTasks(meta *mcpv1.RequestMeta) error {
	extensions := map[string]*structpb.Struct{tasksExtension: {}}
	if meta.GetClientCapabilities().GetExtensions()[tasksExtension] == nil {
		return missing(&mcpv1.ClientCapabilities{Extensions: extensions})
	}
	return nil
}

// needsElicitation returns an error where a client cannot ask its user.
func needsElicitation(meta *mcpv1.RequestMeta) error {
	if meta.GetClientCapabilities().GetElicitation() == nil {
		return missing(&mcpv1.ClientCapabilities{Elicitation: &mcpv1.ElicitationCapability{}})
	}
	return nil
}

// needsSampling returns an error where a client cannot ask a model.
func needsSampling(meta *mcpv1.RequestMeta) error {
	if meta.GetClientCapabilities().GetSampling() == nil {
		return missing(&mcpv1.ClientCapabilities{Sampling: &mcpv1.SamplingCapability{}})
	}
	return nil
}

// rpcError is an error as a task shows it.
func rpcError(err error) *mcpv1.JsonRpcError {
	status, ok := errors.AsType[*connect.Error](err)
	if !ok {
		return &mcpv1.JsonRpcError{Code: codeInternal, Message: "internal error"}
	}
	for _, detail := range status.Details() {
		if value, err := detail.Value(); err == nil {
			if rpc, ok := value.(*mcpv1.JsonRpcError); ok {
				return rpc
			}
		}
	}
	return &mcpv1.JsonRpcError{Code: codeInternal, Message: status.Message()}
}
