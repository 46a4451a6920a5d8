// A server of the official TypeScript SDK that speaks 2026-07-28.
//
// usage: node server.mjs stdio|http
//
// With http it prints its URL as the first line.
import { createServer } from 'node:http';
import { McpServer, createMcpHandler, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

function make() {
  const server = new McpServer({ name: 'typescript', version: '1' }, { instructions: 'Ask.' });
  server.registerTool('greet', { description: 'Greets whoever answers.' }, async (ctx) => {
    const answer = ctx.mcpReq.inputResponses?.who;
    if (answer === undefined) {
      return inputRequired({
        inputRequests: {
          who: inputRequired.elicit({
            message: 'Who?',
            requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
          }),
        },
        requestState: 'asked',
      });
    }
    return { content: [{ type: 'text', text: `${answer.action} ${answer.content?.name}` }] };
  });
  server.registerTool('count', { description: 'Counts to two.' }, async (ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let progress = 1; progress <= 2; progress++) {
      await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 2 } });
    }
    return { content: [{ type: 'text', text: 'two' }] };
  });
  return server;
}

if (process.argv[2] === 'stdio') {
  serveStdio(make);
} else {
  const handler = createMcpHandler(make, { legacy: 'reject' });
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) {
      chunks.push(chunk);
    }
    const answer = await handler.fetch(new Request(`http://${request.headers.host}${request.url}`, {
      method: request.method,
      headers: request.headers,
      body: request.method === 'POST' ? Buffer.concat(chunks) : undefined,
    }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body !== null) {
      for await (const chunk of answer.body) {
        response.write(chunk);
      }
    }
    response.end();
  });
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/`));
}
