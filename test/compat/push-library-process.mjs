// The official server library of Beams in a process of its own, in Bun or Node. Each line of JSON on standard input
// is a call with the options of the library that makes it; each line on standard output is the outcome of one.
import { createInterface } from 'node:readline';
import PushNotifications from '@pusher/push-notifications-server';

const libraries = new Map();

let warnings = [];
console.warn = (text) => warnings.push(text);

for await (const line of createInterface({ input: process.stdin })) {
  const { setup, method, args } = JSON.parse(line);
  warnings = [];
  const outcome = await outcomeOf(libraryOf(setup), method, args);
  console.log(JSON.stringify({ ...outcome, warnings }));
}

function libraryOf(setup) {
  const key = JSON.stringify(setup);
  if (!libraries.has(key)) {
    const library = new PushNotifications(setup.options);
    // With an endpoint it uses http, and has no option for https.
    if (setup.protocol !== undefined) library.protocol = setup.protocol;
    libraries.set(key, library);
  }
  return libraries.get(key);
}

async function outcomeOf(library, method, args) {
  try {
    return { value: await library[method](...args) };
  } catch (error) {
    return { error: String(error.message) };
  }
}
