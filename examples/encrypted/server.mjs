/** Serves the page and the route handlers of app/, as Next.js would. */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { text } from 'node:stream/consumers';
import { POST as addNote } from './app/api/notes/route.mjs';
import { POST as authorize } from './app/api/pusher/auth/route.mjs';

const { PORT = '3000', FANFARE_PORT = '6001' } = process.env;
const origin = `http://localhost:${PORT}`;
const sdk = 'pusher-js/dist/web/pusher-with-encryption.min.js';
const script = await readFile(createRequire(import.meta.url).resolve(sdk), 'utf8');
const page = await readFile(new URL('app/page.html', import.meta.url), 'utf8');

const file = (body, type) => new Response(body, { headers: { 'content-type': type } });
const routes = {
  'GET /': () => file(page.replace('FANFARE_PORT', FANFARE_PORT), 'text/html'),
  'GET /pusher-with-encryption.min.js': () => file(script, 'text/javascript'),
  'POST /api/pusher/auth': authorize,
  'POST /api/notes': addNote,
};

async function answer({ method, url }, body) {
  const route = routes[`${method} ${url}`];
  if (route === undefined) return new Response('Not found', { status: 404 });
  return await route(new Request(new URL(url, origin), { method, body: body || null }));
}

const server = createServer(async (request, response) => {
  try {
    const answered = await answer(request, await text(request));
    response.writeHead(answered.status, Object.fromEntries(answered.headers));
    response.end(await answered.text());
  } catch (error) {
    console.error(error);
    response.writeHead(500).end();
  }
});
server.listen(Number(PORT), 'localhost', () => {
  console.log(`Page on http://localhost:${server.address().port}`);
});
