/** One person in a room: `node chat.mjs NAME [ROOM]`. */
import { createInterface } from 'node:readline';
import Pusher from 'pusher-js';
import { app, backendPort, fanfare } from './settings.mjs';

const [name = 'guest', room = 'lobby'] = process.argv.slice(2);
const port = Number(fanfare.port);

const pusher = new Pusher(app.key, {
  wsHost: fanfare.host,
  wsPort: port,
  forceTLS: false,
  enabledTransports: ['ws'],
  cluster: 'local',
  channelAuthorization: {
    endpoint: `http://localhost:${backendPort}/pusher/auth`,
    transport: 'ajax',
    headers: { 'x-name': name },
  },
});
const channel = pusher.subscribe(`presence-room-${room}`);

channel.bind('pusher:subscription_succeeded', ({ members }) => {
  console.log(`* in ${room}: ${Object.keys(members).sort().join(', ')}`);
});
channel.bind('pusher:subscription_error', ({ error }) => {
  console.error(`* not allowed: ${error}`);
  process.exit(1);
});
channel.bind('pusher:member_added', ({ id }) => console.log(`* ${id} came`));
channel.bind('pusher:member_removed', ({ id }) => console.log(`* ${id} left`));
// The server adds the sender's id, so nobody can write in the name of another.
channel.bind('client-message', ({ text }, { user_id }) => console.log(`${user_id}: ${text}`));

const lines = createInterface({ input: process.stdin });
lines.on('line', (text) => channel.trigger('client-message', { text }));
lines.on('close', () => pusher.disconnect());
