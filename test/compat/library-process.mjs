// The official server library in a process of its own, in Bun or Node. Each line of JSON on standard input is a call;
// each line on standard output is the outcome of one. The argument has the options of the library.
import { createInterface } from 'node:readline';
import Pusher from 'pusher';

const { url, options } = JSON.parse(process.argv[2]);
const pusher = url === undefined ? new Pusher(options) : Pusher.forURL(url, options);

for await (const line of createInterface({ input: process.stdin })) {
  const { method, args } = JSON.parse(line);
  console.log(JSON.stringify(await outcomeOf(method, args)));
}

async function outcomeOf(method, args) {
  try {
    if (method === 'webhook') return { value: readWebhook(...args) };
    const value = await pusher[method](...args);
    if (typeof value?.text !== 'function') return { value };
    return { value: { status: value.status, body: await value.json() } };
  } catch (error) {
    const isRequestError = error instanceof Pusher.RequestError;
    const { message, status, body } = error;
    return { error: { isRequestError, message, status, body } };
  }
}

// A webhook request is not a call: the backend uses the object that the library makes of it.
function readWebhook(request, extraTokens) {
  const webhook = pusher.webhook(request);
  if (!webhook.isValid(extraTokens)) return { valid: false };
  return {
    valid: true,
    data: webhook.getData(),
    events: webhook.getEvents(),
    time: webhook.getTime().toISOString(),
  };
}
