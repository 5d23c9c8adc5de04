import { Recent } from '../../runtime/recent.ts';
import type { AdminApi } from '../admin/admin-api.ts';
import { fail, type Invocation } from '../invocation.ts';
import { JSON_OPTION, type Option, onlyOperand } from '../options.ts';
import type { ExitCode } from '../output.ts';
import { stopSignal } from '../serving/signals.ts';
import { type StreamEvent, streamEvents } from './event-stream.ts';
import { SERVER_OPTIONS, serverCommand } from './running-server.ts';
import { batchShape, endShape, recordLine } from './shown-record.ts';

/** The filters of the stream, which are options of the same name. */
const APP_FILTERS: readonly Option[] = [
  {
    name: 'kinds',
    value: 'KINDS',
    help: 'Only these kinds, separated by commas, such as api,refused,error; docs/reference/admin-api.md lists them.',
  },
  { name: 'channel', value: 'CHANNEL', help: 'Only events of this channel.' },
  { name: 'prefix', value: 'PREFIX', help: 'Only events of channels whose names start with this.' },
  { name: 'socket', value: 'SOCKET-ID', help: 'Only events of this connection.' },
  { name: 'user', value: 'USER', help: 'Only events of this user.' },
  {
    name: 'text',
    value: 'TEXT',
    help: 'Only events with this text in a name, a reason or the data.',
  },
];

const INSTANCE_FILTERS: readonly Option[] = [
  {
    name: 'kinds',
    value: 'KINDS',
    help: 'Only these kinds, separated by commas, such as failed,pruned,paused; docs/reference/admin-api.md lists them.',
  },
  { name: 'publish', value: 'PUBLISH-ID', help: 'Only events of this publish.' },
  { name: 'device', value: 'DEVICE-ID', help: 'Only events of this device.' },
  { name: 'user', value: 'USER', help: 'Only events of devices of this user.' },
  { name: 'platform', value: 'PLATFORM', help: 'Only events of apns, fcm or web.' },
  { name: 'text', value: 'TEXT', help: 'Only events with this text in an id, a name or a reason.' },
];

const READING: readonly Option[] = [
  ...SERVER_OPTIONS,
  { ...JSON_OPTION, help: 'Print each event as one line of JSON, for programs.' },
];

export const TAIL_OPTIONS: readonly Option[] = [...APP_FILTERS, ...READING];
export const PUSH_TAIL_OPTIONS: readonly Option[] = [...INSTANCE_FILTERS, ...READING];

/** The number of recent records whose channels are kept, so that a later update can name its channel. */
const REMEMBERED_MAX = 500;

/** `fanfare tail`: prints what happens in an app until it is stopped. */
export const tail = serverCommand(async (call) => {
  const app = onlyOperand(call.given, 'tail needs APP');
  return await followAll(call, `/apps/${encodeURIComponent(app)}/stream`, APP_FILTERS);
});

/** `fanfare push tail`: prints what happens in a push instance until it is stopped. */
export const pushTail = serverCommand(async (call) => {
  const instance = onlyOperand(call.given, 'push tail needs INSTANCE');
  const path = `/instances/${encodeURIComponent(instance)}/stream`;
  return await followAll(call, path, INSTANCE_FILTERS);
});

async function followAll(
  call: Invocation & { readonly api: AdminApi },
  path: string,
  filters: readonly Option[],
): Promise<ExitCode> {
  const query = new URLSearchParams();
  for (const { name } of filters) {
    const value = call.given.value(name);
    if (value !== undefined) query.set(name, value);
  }
  const stopped = new AbortController();
  void stopSignal().first.then(() => stopped.abort());
  const { signal } = stopped;
  try {
    for (;;) {
      const why = await follow(call, await call.api.stream(`${path}?${query}`, signal));
      // A stream ends after half an hour. The next one continues.
      if (why !== 'time') return fail(call, `the stream has ended: ${WORDS[why] ?? why}`);
    }
  } catch (error) {
    if (signal.aborted) return 0;
    throw error;
  }
}

export const WORDS: Readonly<Record<string, string>> = {
  'app-gone': 'the app was disabled or deleted',
  'instance-gone': 'the instance was deleted',
  stopping: 'the server stops',
  'session-ended': 'the password has changed',
  displaced: 'its place went to a user with fewer streams',
  lost: 'the connection was lost',
};

/** Prints a stream to its end, and returns why it ended. */
async function follow(call: Invocation, body: ReadableStream<Uint8Array>): Promise<string> {
  const print = call.given.has('json') ? jsonPrinter(call) : textPrinter(call);
  for await (const event of streamEvents(body)) {
    if (event.name === 'batch') print(event);
    if (event.name === 'end') return endShape.parse(event.data).why;
  }
  return 'lost';
}

/** Prints events, updates and skipped counts, one line each. */
function jsonPrinter({ output }: Invocation) {
  return ({ data }: StreamEvent) => {
    const { events, updates, skipped, missed = 0 } = Object(data);
    if (missed > 0) output.print(JSON.stringify({ missed }));
    for (const event of events) output.print(JSON.stringify(event));
    for (const update of updates) output.print(JSON.stringify({ update }));
    if (Object.keys(skipped).length > 0) output.print(JSON.stringify({ skipped }));
  };
}

function textPrinter({ output }: Invocation) {
  /** The channels of printed records, the oldest first. */
  const channels = new Recent<number, string>(REMEMBERED_MAX);
  return ({ data }: StreamEvent) => {
    const { events, updates, skipped, missed } = batchShape.parse(data);
    if (missed > 0) output.print(`Read too slowly, missing here: ${missed} events`);
    for (const event of events) {
      output.print(recordLine(event));
      if (event.receivers === 0) channels.set(event.n, event.channel ?? '');
    }
    for (const { n, near, reason } of updates) {
      const channel = channels.get(n);
      const why = near === undefined ? reason : `Did you mean ${near}?`;
      if (channel === undefined || why === undefined) continue;
      output.print(`The event on ${channel} had no receivers. ${why}`);
    }
    const left = Object.entries(skipped).map(([kind, count]) => `${count} ${kind}`);
    if (left.length > 0) output.print(`Too many to show, left out: ${left.join(', ')}`);
  };
}
