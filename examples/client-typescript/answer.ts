import { create } from "@bufbuild/protobuf";

import {
  ElicitAction,
  type ElicitSchema,
  type ElicitValue,
  ElicitValueSchema,
} from "./gen/mcp/v1/elicitation_pb.js";
import { type InputRequest, type InputResponse, InputResponseSchema } from "./gen/mcp/v1/input_pb.js";

// Answers what the server has asked for, by the same keys. A real client asks
// its user.
export function answer(requests: Record<string, InputRequest>): Record<string, InputResponse> {
  const responses: Record<string, InputResponse> = {};
  for (const [key, { paramsForm }] of Object.entries(requests)) {
    if (paramsForm.case !== "elicitation" || paramsForm.value.params.case !== "form") {
      throw new Error(`the server asks for ${paramsForm.case}, which this client has not offered`);
    }
    const form = paramsForm.value.params.value;
    console.log(`  asked: ${form.message}`);
    const schema = form.requestedSchemaForm;
    const content = schema.case === "requestedSchema" ? fill(schema.value) : {};
    responses[key] = create(InputResponseSchema, {
      response: { case: "elicitation", value: { action: ElicitAction.ACCEPT, content } },
    });
  }
  return responses;
}

// Fills in a form: what must be filled in with a name, as far as it is text,
// the rest with what the server proposes.
function fill(form: ElicitSchema): Record<string, ElicitValue> {
  const content: Record<string, ElicitValue> = {};
  for (const [name, input] of Object.entries(form.properties)) {
    if (input.defaultValue) {
      content[name] = input.defaultValue;
    } else if (input.type === "string" && form.required.includes(name)) {
      content[name] = create(ElicitValueSchema, { value: { case: "text", value: "Ada Lovelace" } });
    }
  }
  return content;
}
