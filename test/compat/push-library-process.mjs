// The official server library of Beams in a process of its own, Bun or Node: one line of JSON on standard input
// is a call, one line on standard output what came of it. The argument says how the library is set up.
import { createInterface } from 'node:readline';
import PushNotifications from '@pusher/push-notifications-server';

const { options, protocol } = JSON.parse(process.argv[2]);
const library = new PushNotifications(options);
// With an endpoint it speaks http, and has no option for https.
if (protocol !== undefined) library.protocol = protocol;

let warnings = [];
console.warn = (text) => warnings.push(text);

for await (const line of createInterface({ input: process.stdin })) {
  const { method, args } = JSON.parse(line);
  warnings = [];
  const outcome = await outcomeOf(method, args);
  console.log(JSON.stringify({ ...outcome, warnings }));
}

async function outcomeOf(method, args) {
  try {
    return { value: await library[method](...args) };
  } catch (error) {
    return { error: String(error.message) };
  }
}
