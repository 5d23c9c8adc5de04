/** Decides who may enter a room. Only this program knows the secret of the app. */
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import Pusher from 'pusher';
import { app, backendPort, fanfare } from './settings.mjs';

const pusher = new Pusher({
  appId: app.id,
  key: app.key,
  secret: app.secret,
  host: fanfare.host,
  port: fanfare.port,
  useTLS: false,
});

const server = createServer(async (request, response) => {
  const form = new URLSearchParams(await text(request));
  const channel = form.get('channel_name') ?? '';
  // A real backend asks its session who this is. Here, people say their name themselves.
  const name = request.headers['x-name'];
  if (!channel.startsWith('presence-room-') || !/^\w{1,20}$/.test(name ?? '')) {
    response.writeHead(403).end('A name has 1 to 20 letters');
    return;
  }
  const member = { user_id: name, user_info: { since: new Date().toISOString() } };
  const answer = pusher.authorizeChannel(form.get('socket_id'), channel, member);
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
});

server.listen(backendPort, 'localhost', () => {
  console.log(`Backend on http://localhost:${server.address().port}`);
});
