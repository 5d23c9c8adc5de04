// pusher-js in a process of its own. It subscribes to the channels that its argument names and prints all it
// hears, as lines of JSON: [channel, event, data]. A line on standard input, [channel, event, data], is sent
// as a client event.
import { createInterface } from 'node:readline';
import PusherJs from 'pusher-js';

const { key, options, channels } = JSON.parse(process.argv[2]);
const print = (...line) => console.log(JSON.stringify(line));

const pusher = new PusherJs(key, options);
pusher.connection.bind('state_change', ({ current }) => print('connection', current));
for (const name of channels) {
  pusher.subscribe(name).bind_global((event, data) => print(name, event, data));
}

for await (const line of createInterface({ input: process.stdin })) {
  const [channel, event, data] = JSON.parse(line);
  pusher.channel(channel).trigger(event, data);
}
