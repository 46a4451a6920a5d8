import { create, toBinary } from "@bufbuild/protobuf";
import { type CallOptions, ConnectError, encodeBinaryHeader } from "@connectrpc/connect";

import { ElicitAction, type ElicitValue, ElicitValueSchema } from "./gen/mcp/v1/elicitation_pb.js";
import { type InputRequest, InputRequiredResultSchema, type InputResponse, InputResponseSchema } from "./gen/mcp/v1/input_pb.js";
import { CallToolRequestSchema } from "./gen/mcp/v1/tools_pb.js";

// The metadata with what a typed request has no fields for.
const restHeader = "mcp-request-bin";
// How often a server may ask for input before a call is given up.
const maxRounds = 10;

// Makes a call until it is done: where the server needs something first, the same
// request is made again, with the answers.
export async function ask<Response>(call: (options: CallOptions) => Promise<Response>): Promise<Response> {
  const rest = create(CallToolRequestSchema, { meta: { clientCapabilities: { elicitation: { form: {} } } } });
  for (let round = 0; round < maxRounds; round++) {
    try {
      return await call({ headers: { [restHeader]: encodeBinaryHeader(toBinary(CallToolRequestSchema, rest)) } });
    } catch (failed) {
      const [required] = ConnectError.from(failed).findDetails(InputRequiredResultSchema);
      if (required === undefined) {
        throw failed;
      }
      rest.inputResponses = answer(required.inputRequests);
      rest.requestState = required.requestState;
    }
  }
  throw new Error(`the server has asked ${maxRounds} times`);
}

// Fills in the forms of a server, by the same keys. A real client asks its user.
function answer(requests: Record<string, InputRequest>): Record<string, InputResponse> {
  const responses: Record<string, InputResponse> = {};
  for (const [key, { paramsForm }] of Object.entries(requests)) {
    if (paramsForm.case !== "elicitation" || paramsForm.value.params.case !== "form") {
      throw new Error(`the server asks for ${paramsForm.case}, which this client has not offered`);
    }
    const { message, requestedSchemaForm: schema } = paramsForm.value.params.value;
    console.log(`asked: ${message}`);
    const content: Record<string, ElicitValue> = {};
    if (schema.case === "requestedSchema") {
      for (const [name, input] of Object.entries(schema.value.properties)) {
        if (input.defaultValue) {
          content[name] = input.defaultValue;
        } else if (input.type === "string" && schema.value.required.includes(name)) {
          content[name] = create(ElicitValueSchema, { value: { case: "text", value: "Ada Lovelace" } });
        }
      }
    }
    responses[key] = create(InputResponseSchema, {
      response: { case: "elicitation", value: { action: ElicitAction.ACCEPT, content } },
    });
  }
  return responses;
}
