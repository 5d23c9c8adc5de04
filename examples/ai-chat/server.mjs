/** A page with a chat, and the backend that answers. Only this program knows the secret of the app. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import Pusher from 'pusher';
// In a project of your own: 'fanfare/append'.
import { append } from '../../sdk/append/index.js';
import { answerTo } from './model.mjs';

const { FANFARE_PORT = '6001', PORT = '3000' } = process.env;
const fanfare = `http://localhost:${FANFARE_PORT}`;
const pusher = new Pusher({
  appId: '1',
  key: 'ai-chat-key',
  secret: 'ai-chat-secret',
  host: 'localhost',
  port: FANFARE_PORT,
  useTLS: false,
});

// A real backend asks its session whose chat this is. Here there is one for everybody.
const channel = 'private-cache-chat-1';

/** Answers a question, to everybody who has the chat open now or later. */
async function answer(question) {
  const value = append(pusher, channel, { id: randomUUID() });
  for await (const word of answerTo(question, value.stopped)) value.write(word);
  await value.end();
}

/** A URL by which a page can read the chat for an hour. */
function streamUrl() {
  const path = `/apps/1/channels/${channel}/stream`;
  const params = { expires: String(Math.floor(Date.now() / 1000) + 3600) };
  return `${fanfare}${path}?${pusher.createSignedQueryString({ method: 'GET', path, params })}`;
}

const page = await readFile(new URL('page.html', import.meta.url), 'utf8');

const routes = {
  'GET /': (_, response) => response.setHeader('content-type', 'text/html').end(page),
  'GET /stream-url': (_, response) => response.end(streamUrl()),
  'POST /ask': async (request, response) => {
    const question = await text(request);
    response.writeHead(202).end();
    await answer(question.slice(0, 1000));
  },
  'POST /stop': async (request, response) => {
    const id = await text(request);
    await pusher.trigger(channel, 'answer', '', { append: { id, stop: true } });
    response.writeHead(204).end();
  },
};

const server = createServer(async (request, response) => {
  const route = routes[`${request.method} ${request.url}`];
  try {
    if (route === undefined) response.writeHead(404).end();
    else await route(request, response);
  } catch (error) {
    console.error(error);
    if (!response.headersSent) response.writeHead(502).end();
  }
});
server.listen(Number(PORT), 'localhost', () => {
  console.log(`Page on http://localhost:${server.address().port}`);
});
