// Lists and calls the demo's tools with an official TypeScript client, and
// prints what it saw as one line of JSON.
//
// usage: node client.mjs v1|v2 REVISION http|sse URL
//        node client.mjs v1|v2 REVISION stdio COMMAND [ARG...]
const [sdk, revision, transportKind, target, ...args] = process.argv.slice(2);

const packages = {
  v1: async () => ({
    ...(await import('@modelcontextprotocol/sdk/client/index.js')),
    ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
    ...(await import('@modelcontextprotocol/sdk/client/sse.js')),
    ...(await import('@modelcontextprotocol/sdk/client/stdio.js')),
  }),
  v2: async () => ({
    ...(await import('@modelcontextprotocol/client')),
    ...(await import('@modelcontextprotocol/client/stdio')),
  }),
};
const { Client, StreamableHTTPClientTransport, SSEClientTransport, StdioClientTransport } = await packages[sdk]();

const transport = {
  http: () => new StreamableHTTPClientTransport(new URL(target)),
  sse: () => new SSEClientTransport(new URL(target)),
  stdio: () => new StdioClientTransport({ command: target, args, stderr: 'inherit' }),
}[transportKind]();

// Neither client lets a caller choose an older legacy revision: ask for it in
// the initialize request itself.
const modern = revision === '2026-07-28';
let negotiated = modern ? revision : undefined;
const methods = [];
const send = transport.send.bind(transport);
transport.send = (message, options) => {
  methods.push(message.method);
  if (message.method === 'initialize') {
    message = { ...message, params: { ...message.params, protocolVersion: revision } };
  }
  return send(message, options);
};

const client = new Client(
  { name: 'peer', version: '1.0.0' },
  modern ? { versionNegotiation: { mode: 'auto' } } : {},
);
// Both clients tell their transport what they have negotiated.
const setProtocolVersion = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (version) => {
  negotiated = version;
  setProtocolVersion?.(version);
};
await client.connect(transport);

const tools = [];
let cursor;
do {
  const page = await client.listTools(cursor ? { cursor } : undefined);
  tools.push(...page.tools);
  cursor = page.nextCursor;
} while (cursor);

const found = await client.callTool({ name: 'Library_GetBook', arguments: { name: 'shelves/1/books/1' } });
const missing = await client.callTool({ name: 'Library_GetBook', arguments: { name: 'shelves/1/books/999' } });
const wrong = await client.callTool({ name: 'Library_GetBook', arguments: { nam: 'x' } });

console.log(
  JSON.stringify({
    server: client.getServerVersion()?.name,
    negotiated,
    initialized: methods.includes('initialize'),
    tools: tools.map((t) => t.name).sort(),
    book: found.structuredContent?.name,
    text: JSON.parse(found.content[0].text).name,
    missing: { isError: missing.isError, text: missing.content[0].text },
    wrong: { isError: wrong.isError, text: wrong.content[0].text },
  }),
);
await client.close();
