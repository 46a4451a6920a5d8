import { clone, create } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";

import { ProgressTokenSchema, RequestMetaSchema } from "./gen/mcp/v1/base_pb.js";
import type { McpService } from "./gen/mcp/v1/service_pb.js";
import type { CallToolRequest, CallToolResponse } from "./gen/mcp/v1/tools_pb.js";
import { answer } from "./answer.ts";

// How often a server may ask for input before a call is given up.
const maxRounds = 10;

// Calls a tool until it is done: where the server needs something first, the
// same request is made again, with the answers.
export async function call(client: Client<typeof McpService>, request: CallToolRequest): Promise<void> {
  for (let round = 0; round < maxRounds; round++) {
    const response = await client.callTool(request);
    if (response.result.case !== "inputRequired") {
      print(response);
      return;
    }
    const required = response.result.value;
    request.inputResponses = answer(required.inputRequests);
    request.requestState = required.requestState;
  }
  throw new Error(`the server has asked ${maxRounds} times`);
}

// Calls a tool and prints how far it has come. The last event has the result.
export async function stream(client: Client<typeof McpService>, request: CallToolRequest): Promise<void> {
  // Servers report progress to those who have a token for it.
  request.meta = clone(RequestMetaSchema, request.meta ?? create(RequestMetaSchema));
  request.meta.progressToken = create(ProgressTokenSchema, { token: { case: "text", value: request.name } });
  for await (const { event } of client.streamCallTool({ request })) {
    switch (event.case) {
      case "progress":
        console.log(`  step ${event.value.progress} of ${event.value.total}`);
        break;
      case "result":
        print(event.value);
        return;
    }
  }
  throw new Error("the stream ended without a result");
}

// Prints the text of a result.
function print({ result }: CallToolResponse): void {
  if (result.case !== "complete") {
    throw new Error(`the server answers with ${result.case}, not with a result`);
  }
  for (const { content } of result.value.content) {
    if (content.case === "text") {
      console.log(`  ${content.value.text}`);
    }
  }
  if (result.value.isError) {
    throw new Error("the tool has failed");
  }
}
