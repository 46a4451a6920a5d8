// Lists and calls the tools of an MCP server over gRPC.
//
// It speaks to the mcp.v1.McpService that mcp-bridge puts in front of
// @modelcontextprotocol/server-everything, at http://127.0.0.1:8080 or the URL
// that is its argument.
import { create, type JsonObject } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";

import { type RequestMeta, RequestMetaSchema } from "./gen/mcp/v1/base_pb.js";
import { McpService } from "./gen/mcp/v1/service_pb.js";
import { type CallToolRequest, CallToolRequestSchema } from "./gen/mcp/v1/tools_pb.js";
import { call, stream } from "./call.ts";

// Sent with each request: who calls, in what revision of MCP, and what the
// server may ask of the caller.
const meta: RequestMeta = create(RequestMetaSchema, {
  protocolVersion: "2026-07-28",
  clientInfo: { name: "mcp-client", version: "1.0.0" },
  clientCapabilities: { elicitation: { form: {} } },
});

function request(name: string, args: JsonObject = {}): CallToolRequest {
  return create(CallToolRequestSchema, {
    name,
    argumentsForm: { case: "arguments", value: args },
    meta,
  });
}

const baseUrl = process.argv[2] ?? "http://127.0.0.1:8080";
const sessionManager = new Http2SessionManager(baseUrl);
const client = createClient(McpService, createGrpcTransport({ baseUrl, sessionManager }));
try {
  // The tools come in pages.
  let cursor: string | undefined;
  do {
    const page = await client.listTools({ cursor, meta });
    for (const tool of page.tools) {
      console.log(`${tool.name}: ${tool.title || tool.description}`);
    }
    cursor = page.nextCursor;
  } while (cursor !== undefined);

  console.log("\necho");
  await call(client, request("echo", { message: "hello from TypeScript" }));

  console.log("\ntrigger-long-running-operation");
  await stream(client, request("trigger-long-running-operation", { duration: 1, steps: 4 }));

  console.log("\ntrigger-elicitation-request");
  await call(client, request("trigger-elicitation-request"));
} finally {
  sessionManager.abort();
}
