import type { LiveRecord } from './records.ts';
import { wholeData } from './sending-again.ts';

/** Steps of one script. */
const STEPS_MAX = 5000;

interface Target {
  readonly key: string;
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /** The path of the Channels listener behind a proxy; empty if there is none. */
  readonly pathPrefix: string;
  /** The app, and the address of the admin API. */
  readonly app: string;
  readonly admin: string;
}

/** A recording as a test: a script for pusher-js that repeats its steps and checks who receives each event. */
export function stepsOf(records: readonly LiveRecord[], target: Target): string {
  const steps = new Steps();
  const lines = records.flatMap((record) => steps.of(record));
  const kept = lines.slice(0, STEPS_MAX);
  if (lines.length > kept.length)
    kept.push(`// ${lines.length - kept.length} more steps are left out.`);
  return `${head(target)}\n${kept.join('\n')}\n\nfor (const name of [...clients.keys()]) await disconnect(name);\nconsole.log('All steps passed.');\n`;
}

interface Client {
  readonly name: string;
  readonly channels: Set<string>;
}

/** What each client of a recording does. */
class Steps {
  /** By socket: the name of the connection in the script, and its channels. */
  private readonly clients = new Map<string, Client>();
  private made = 1;

  of(record: LiveRecord): readonly string[] {
    const { kind, socket, channel } = record;
    switch (kind) {
      case 'subscribed':
        if (socket === undefined || channel === undefined) return [];
        return this.subscribe(socket, channel);
      case 'unsubscribed': {
        const client = this.clients.get(socket ?? '');
        if (channel === undefined || client?.channels.delete(channel) !== true) return [];
        return [step('unsubscribe', client.name, channel)];
      }
      case 'disconnected': {
        const client = this.clients.get(socket ?? '');
        if (client === undefined) return [];
        this.clients.delete(socket ?? '');
        return [step('disconnect', client.name)];
      }
      case 'api':
      case 'client':
        return this.send(record);
      default:
        return [];
    }
  }

  private subscribe(socket: string, channel: string): readonly string[] {
    const known = this.clients.get(socket);
    const client = known ?? { name: `client-${this.made++}`, channels: new Set<string>() };
    this.clients.set(socket, client);
    client.channels.add(channel);
    return [
      ...(known === undefined ? [step('connect', client.name)] : []),
      step('subscribe', client.name, channel),
    ];
  }

  private send(record: LiveRecord): readonly string[] {
    const { kind, socket, channel = '', event = '', except } = record;
    const data = wholeData(record);
    if (data === undefined)
      return [`// Left out: ${printed(event)}, the recording has not all of its data.`];
    const sender = this.clients.get(socket ?? '')?.name;
    if (kind === 'client' && sender === undefined) {
      return [`// Left out: ${printed(event)} of a client that connected before the recording.`];
    }
    const heard = [...this.clients].flatMap(([id, { name, channels }]) =>
      channels.has(channel) && id !== except && name !== (kind === 'client' ? sender : '')
        ? [name]
        : [],
    );
    return kind === 'client'
      ? [step('says', sender, channel, event, data, heard)]
      : [step('send', channel, event, data, heard)];
  }
}

function step(name: string, ...values: readonly unknown[]): string {
  return `await ${name}(${values.map(printed).join(', ')});`;
}

/** A value in the script, where lines also end at two characters that JSON leaves as they are. */
function printed(value: unknown): string {
  return JSON.stringify(value).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

function head({ key, host, port, tls, pathPrefix, app, admin }: Target): string {
  const text = (value: string) => JSON.stringify(value);
  return `// Steps of a recording, as a test. Each event must be heard by the clients that its step names.
// npm install pusher-js && PASSWORD=… node FILE.mjs
import Pusher from 'pusher-js';

const {
  KEY = ${text(key)},
  HOST = ${text(host)},
  PORT = '${port}',
  APP = ${text(app)},
  // Sends the events of the backend.
  ADMIN = ${text(admin)},
  PASSWORD = '',
  // Authorises private and presence channels.
  AUTH = 'http://127.0.0.1:3000/pusher/auth',
} = process.env;
const WAIT_MS = 5000;

const clients = new Map();
const expected = new Map();

function within(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(\`\${what} did not happen in \${WAIT_MS} ms\`)), WAIT_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function connect(name) {
  const client = new Pusher(KEY, {
    wsHost: HOST, wsPort: PORT, wssPort: PORT, wsPath: ${text(pathPrefix)}, forceTLS: ${tls}, cluster: '', enabledTransports: ['ws', 'wss'],
    channelAuthorization: { endpoint: AUTH, transport: 'ajax' },
  });
  clients.set(name, client);
  await within(new Promise((done) => client.connection.bind('connected', done)), \`\${name} connecting\`);
}

async function subscribe(name, channel) {
  const subscribed = new Promise((done, failed) => {
    const subscription = clients.get(name).subscribe(channel);
    subscription.bind_global((event) => hear([name, channel, event].join(' ')));
    subscription.bind('pusher:subscription_succeeded', done);
    subscription.bind('pusher:subscription_error', (error) => failed(new Error(\`\${channel}: \${JSON.stringify(error)}\`)));
  });
  await within(subscribed, \`\${name} subscribing to \${channel}\`);
}

async function unsubscribe(name, channel) {
  clients.get(name).unsubscribe(channel);
}

async function disconnect(name) {
  clients.get(name).disconnect();
  clients.delete(name);
}

function hear(what) {
  expected.get(what)?.();
  expected.delete(what);
}

/** Settles when all of these clients have received an event. */
function heard(names, channel, event) {
  return Promise.all(names.map((name) => within(
    new Promise((resolve) => expected.set([name, channel, event].join(' '), resolve)),
    \`\${name} hearing \${event} on \${channel}\`,
  )));
}

async function send(channel, name, data, hearers) {
  const all = heard(hearers, channel, name);
  const answer = await fetch(\`\${ADMIN}/api/v1/apps/\${APP}/events\`, {
    method: 'POST',
    headers: { authorization: \`Bearer \${PASSWORD}\`, 'content-type': 'application/json' },
    body: JSON.stringify({ name, channels: [channel], data }),
  });
  if (!answer.ok) throw new Error(\`\${answer.status} \${await answer.text()}\`);
  await all;
}

function parsed(data) {
  try {
    return JSON.parse(data);
  } catch {
    return data;
  }
}

async function says(client, channel, event, data, hearers) {
  const all = heard(hearers, channel, event);
  clients.get(client).send_event(event, parsed(data), channel);
  await all;
}
`;
}
