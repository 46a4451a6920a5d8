// Deletes a book of the demo with the official TypeScript client, v1, answers
// what it is asked meanwhile, and prints what it saw as one line of JSON.
//
// usage: node confirm.mjs URL BOOK accept|decline
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const [url, name, action] = process.argv.slice(2);
const asked = [];
const client = new Client({ name: 'peer', version: '1.0.0' }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, (request) => {
  asked.push(request.params.message);
  return action === 'accept' ? { action, content: {} } : { action };
});
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const result = await client.callTool({ name: 'Library_DeleteBook', arguments: { name, force: true } });
console.log(JSON.stringify({ asked, isError: result.isError === true }));
await client.close();
