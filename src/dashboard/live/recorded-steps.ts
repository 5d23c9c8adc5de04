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

/**
 * A recording as a test: a script for pusher-js that repeats its steps and checks who receives each event. `runner` is
 * the text of `steps-runner.txt`, which defines what a step calls.
 */
export function stepsOf(records: readonly LiveRecord[], target: Target, runner: string): string {
  const steps = new Steps();
  const lines = records.flatMap((record) => steps.of(record));
  const kept = lines.slice(0, STEPS_MAX);
  if (lines.length > kept.length)
    kept.push(`// ${lines.length - kept.length} more steps are left out.`);
  return [
    '// Steps of a recording, as a test. Each event must be received by the clients that its step names.',
    '// npm install pusher-js && PASSWORD=… node FILE.mjs',
    `const recorded = ${printed(target)};`,
    runner,
    ...kept,
    '\nfor (const name of [...clients.keys()]) await disconnect(name);',
    "console.log('All steps passed.');\n",
  ].join('\n');
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
    const receivers = [...this.clients].flatMap(([id, { name, channels }]) =>
      channels.has(channel) && id !== except && name !== (kind === 'client' ? sender : '')
        ? [name]
        : [],
    );
    return kind === 'client'
      ? [step('says', sender, channel, event, data, receivers)]
      : [step('send', channel, event, data, receivers)];
  }
}

function step(name: string, ...values: readonly unknown[]): string {
  return `await ${name}(${values.map(printed).join(', ')});`;
}

/** A value in the script, where lines also end at two characters that JSON leaves as they are. */
function printed(value: unknown): string {
  return JSON.stringify(value).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}
