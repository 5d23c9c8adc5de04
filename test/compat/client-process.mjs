// pusher-js in a process of its own. It subscribes to the channels of its argument and prints each event as a line of
// JSON: [channel, event, data]. It sends each such line on standard input as a client event. With `signin` it signs in,
// and prints the events of the user and the watchlist with the channels "user" and "watchlist".
import { createInterface } from 'node:readline';
import PusherJs from 'pusher-js';

const { key, options, channels, signin } = JSON.parse(process.argv[2]);
const print = (...line) => console.log(JSON.stringify(line));

const pusher = new PusherJs(key, options);
pusher.connection.bind('state_change', ({ current }) => print('connection', current));
for (const name of channels) {
  pusher.subscribe(name).bind_global((event, data) => print(name, event, data));
}
if (signin) {
  pusher.user.bind_global((event, data) => print('user', event, data));
  for (const event of ['online', 'offline']) {
    pusher.user.watchlist.bind(event, (data) => print('watchlist', event, data));
  }
  pusher.connection.bind('message', ({ event, channel }) => {
    if (
      event === 'pusher_internal:subscription_succeeded' &&
      channel.startsWith('#server-to-user-')
    ) {
      print('user', 'signed in', pusher.user.user_data.id);
    }
  });
  pusher.signin();
}

for await (const line of createInterface({ input: process.stdin })) {
  const [channel, event, data] = JSON.parse(line);
  pusher.channel(channel).trigger(event, data);
}
