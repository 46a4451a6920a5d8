// Calls the tools of an MCP server as RPCs with types.
//
// The service is what mcp-bridge has exported of
// @modelcontextprotocol/server-everything, and serves at http://127.0.0.1:8080 or
// the URL that is its argument.
import { ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";

import { EverythingTools, GetStructuredContentRequest_Location } from "./gen/acme/everything/v1/everything_pb.js";
import type { ContentBlock } from "./gen/mcp/v1/content_pb.js";
import { ToolErrorSchema } from "./gen/mcp/v1/tools_pb.js";
import { ask } from "./ask.ts";

const baseUrl = process.argv[2] ?? "http://127.0.0.1:8080";
const sessionManager = new Http2SessionManager(baseUrl);
const tools = createClient(EverythingTools, createGrpcTransport({ baseUrl, sessionManager }));
try {
  print((await tools.echo({ message: "hello from TypeScript" })).content);

  const { structuredContent } = await tools.getStructuredContent({ location: GetStructuredContentRequest_Location.NEW_YORK });
  if (structuredContent.case === "structured") {
    const { conditions, temperature } = structuredContent.value;
    console.log(`New York: ${conditions}, ${temperature} degrees`);
  }

  for await (const { event } of tools.streamTriggerLongRunningOperation({ request: { duration: 1, steps: 4 } })) {
    if (event.case === "progress") {
      console.log(`step ${event.value.progress} of ${event.value.total}`);
    } else if (event.case === "result") {
      print(event.value.content);
    }
  }

  try {
    await tools.getResourceReference({ resourceId: -1 });
  } catch (failed) {
    const [detail] = ConnectError.from(failed).findDetails(ToolErrorSchema);
    console.log("it fails:");
    print(detail?.result?.content ?? []);
  }

  print((await ask((options) => tools.triggerElicitationRequest({}, options))).content);
} finally {
  sessionManager.abort();
}

// Prints the text of a result.
function print(blocks: ContentBlock[]): void {
  for (const { content } of blocks) {
    if (content.case === "text") {
      console.log(content.value.text);
    }
  }
}
