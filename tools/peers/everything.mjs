// Does all that it can with the reference server, server-everything, behind the
// bridge, with an official TypeScript client in several revisions, one after the
// other, and prints what it saw as a line of JSON for each.
//
// usage: node everything.mjs v1|v2 REVISION[,REVISION...] http URL SSE-URL
//        node everything.mjs v1|v2 REVISION[,REVISION...] stdio COMMAND [ARG...]
const [sdk, revisions, kind, target, ...args] = process.argv.slice(2);

const packages = {
  v1: async () => {
    const types = await import('@modelcontextprotocol/sdk/types.js');
    return {
      ...(await import('@modelcontextprotocol/sdk/client/index.js')),
      ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
      ...(await import('@modelcontextprotocol/sdk/client/sse.js')),
      ...(await import('@modelcontextprotocol/sdk/client/stdio.js')),
      elicit: types.ElicitRequestSchema,
      sample: types.CreateMessageRequestSchema,
    };
  },
  v2: async () => ({
    ...(await import('@modelcontextprotocol/client')),
    ...(await import('@modelcontextprotocol/client/stdio')),
    elicit: 'elicitation/create',
    sample: 'sampling/createMessage',
  }),
};
const { Client, StreamableHTTPClientTransport, SSEClientTransport, StdioClientTransport, elicit, sample } = await packages[sdk]();

function connect(revision) {
  if (kind === 'stdio') {
    return new StdioClientTransport({ command: target, args, stderr: 'inherit' });
  }
  if (revision === '2024-11-05') {
    return new SSEClientTransport(new URL(args[0])); // it has no Streamable HTTP
  }
  return new StreamableHTTPClientTransport(new URL(target));
}

for (const revision of revisions.split(',')) {
  const transport = connect(revision);
  const modern = revision === '2026-07-28';
  let negotiated = modern ? revision : undefined;
  // Neither client lets a caller choose an older legacy revision.
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if (message.method === 'initialize') {
      message = { ...message, params: { ...message.params, protocolVersion: revision } };
    }
    return send(message, options);
  };
  const setProtocolVersion = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    negotiated = version;
    setProtocolVersion?.(version);
  };

  const client = new Client(
    { name: 'peer', version: '1.0.0' },
    { capabilities: { elicitation: {}, sampling: {} }, ...(modern ? { versionNegotiation: { mode: 'auto' } } : {}) },
  );
  const asked = [];
  client.setRequestHandler(elicit, (request) => {
    asked.push(request.params.message);
    return { action: 'accept', content: { name: 'Ada' } };
  });
  client.setRequestHandler(sample, (request) => {
    asked.push(request.params.messages[0].content.text);
    return { role: 'assistant', model: 'm', content: { type: 'text', text: 'because' } };
  });
  await client.connect(transport);

  const call = async (name, args, ...rest) => {
    const result = await client.callTool({ name, arguments: args }, ...rest);
    return result.content.map((block) => block.text).join('\n');
  };
  const report = { revision, negotiated, asked, progress: [] };
  report.tools = (await client.listTools()).tools.map((tool) => tool.name);
  report.echo = await call('echo', { message: 'hé' });
  const watching = { onprogress: (progress) => report.progress.push(progress.progress) };
  report.long = await call('trigger-long-running-operation', { duration: 0.1, steps: 2 }, ...(sdk === 'v1' ? [undefined, watching] : [watching]));
  if (revision >= '2025-06-18') {
    report.elicited = await call('trigger-elicitation-request', {});
  }
  report.sampled = await call('trigger-sampling-request', { prompt: 'why?' });
  const prompt = await client.getPrompt({ name: 'args-prompt', arguments: { city: 'Oslo' } });
  report.prompt = prompt.messages[0].content.text;
  const resource = await client.readResource({ uri: 'demo://resource/dynamic/text/2' });
  report.resource = resource.contents[0].text;
  const completed = await client.complete({
    ref: { type: 'ref/prompt', name: 'completable-prompt' },
    argument: { name: 'department', value: 'S' },
  });
  report.completed = completed.completion.values;
  console.log(JSON.stringify(report));
  await client.close();
}
