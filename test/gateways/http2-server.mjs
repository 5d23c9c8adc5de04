/** An HTTP/2 server on Node, as an independent implementation. It prints its port; the path says what it does. */
import { createSecureServer } from 'node:http2';

const { cert, key, streamsMax } = JSON.parse(process.argv[2] ?? '{}');
const server = createSecureServer({ cert, key, settings: { maxConcurrentStreams: streamsMax } });

let open = 0;
let most = 0;

server.on('session', (session) => session.on('error', () => session.destroy()));
server.on('stream', (stream, headers) => {
  stream.on('error', () => stream.destroy());
  open++;
  most = Math.max(most, open);
  stream.on('close', () => open--);
  const path = headers[':path'];
  if (path === '/refuse-once') {
    if (!server.hasRefused) {
      server.hasRefused = true;
      return stream.close(7);
    }
  }
  if (path === '/hang') return;
  if (path === '/cut') return stream.session.destroy();
  if (path === '/goodbye' && !server.saidGoodbye) {
    server.saidGoodbye = true;
    return stream.session.goaway(0, stream.id - 2, Buffer.from('bye'));
  }
  let bytes = 0;
  stream.on('data', (chunk) => {
    bytes += chunk.length;
  });
  stream.on('end', () => {
    if (path === '/large') {
      stream.respond({ ':status': 500 });
      return stream.end(Buffer.alloc(200_000, 'x'));
    }
    const { authorization = '' } = headers;
    stream.respond({ ':status': 200, echo: authorization, 'x-bytes': bytes, 'x-most': most });
    stream.end('body');
  });
});
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify(server.address().port)));
process.stdin.resume().on('end', () => process.exit(0));
