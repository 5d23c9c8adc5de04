import { z } from 'zod';
import { printable } from '../../runtime/logging/printable.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import { pause } from '../../runtime/time/pause.ts';
import { fail, type Invocation } from '../invocation.ts';
import { type Arguments, CONFIG_OPTION, JSON_OPTION, type Option } from '../options.ts';
import { type ExitCode, UsageError } from '../output.ts';
import { openServer, Unreachable } from '../server-request.ts';
import { stopSignal } from '../serving/signals.ts';
import { type StreamBlock, streamBlocks } from './event-stream.ts';
import { timeOf } from './shown-record.ts';
import { type Source, sourceOf, streamUrl } from './stream-source.ts';

export const SUBSCRIBE_OPTIONS: readonly Option[] = [
  {
    name: 'after',
    value: 'ID',
    help: 'Go on after this event: the `id:` that was read last, of several channels their ids, joined by commas.',
  },
  { name: 'event', value: 'NAME', help: 'Only events of this name.' },
  { name: 'count', value: 'N', help: 'End after this many events, with exit code 0.' },
  { name: 'seconds', value: 'N', help: 'End after this many seconds, with exit code 1.' },
  {
    name: 'url',
    value: 'URL',
    help: 'The URL by which clients reach the server, like https://ws.example.com. Default: the server of the configuration.',
  },
  CONFIG_OPTION,
  { ...JSON_OPTION, help: 'Print each event as it came, as one line of JSON, for programs.' },
];

/** The pauses between two tries, the first and the longest. Milliseconds. */
const PAUSE_MS = 500;
const PAUSE_MS_MAX = 10_000;

/** The server sends something every 15 seconds. A stream that is silent for longer is cut. Milliseconds. */
const SILENT_MS = 45_000;

const eventShape = z.object({ event: z.string(), channel: z.string(), data: z.unknown() });
const gapShape = z.object({ channel: z.string(), why: z.string(), id: z.string() });

/** Why the command ends. */
type End = 'stopped' | 'counted' | 'late' | 'unreadable';

/** A server that refuses, and its words. */
class Refused extends Error {
  override readonly name = 'Refused';
}

/** `fanfare subscribe`: prints the events of channels. */
export async function subscribe(call: Invocation): Promise<ExitCode> {
  const { given } = call;
  const [app, ...channels] = given.operands;
  if (app === undefined || channels.length === 0) {
    throw new UsageError('subscribe needs APP and at least one CHANNEL');
  }
  const most = numberOf(given, 'count');
  const seconds = numberOf(given, 'seconds');
  const source = await sourceOf(call, { app, channels });
  if (source === undefined) return 2;
  const ended = new AbortController();
  void stopSignal().first.then(() => ended.abort('stopped' satisfies End));
  const cancel =
    seconds === undefined
      ? undefined
      : monotonicTimers.after(seconds * 1000, () => ended.abort('late' satisfies End));
  let left = most ?? Number.POSITIVE_INFINITY;
  const counted = () => {
    left--;
    if (left === 0) ended.abort('counted' satisfies End);
  };
  try {
    await followAll(call, source, { counted, signal: ended.signal });
  } catch (error) {
    if (!ended.signal.aborted) {
      if (error instanceof Refused) return fail(call, error.message);
      throw error;
    }
  } finally {
    cancel?.();
  }
  return ended.signal.reason === ('late' satisfies End) ? 1 : 0;
}

interface Following {
  /** Called for each event that is printed. */
  readonly counted: () => void;
  readonly signal: AbortSignal;
}

/** Prints events until the signal. Waits out cuts and restarts of the server, once it has answered. */
async function followAll(call: Invocation, source: Source, following: Following): Promise<void> {
  const { signal } = following;
  let lastId: string | undefined;
  let pauseMs = 0;
  let hasAnswered = false;
  const reached = (id: string | undefined) => {
    hasAnswered = true;
    pauseMs = 0;
    lastId = id ?? lastId;
  };
  while (!signal.aborted) {
    try {
      await follow(call, source, { ...following, lastId, reached });
    } catch (error) {
      if (error instanceof Refused || signal.aborted) throw error;
      if (!hasAnswered && error instanceof Unreachable) throw error;
    }
    pauseMs = Math.min(PAUSE_MS_MAX, Math.max(PAUSE_MS, 2 * pauseMs));
    await Promise.race([pause(monotonicTimers, pauseMs), aborted(signal)]);
  }
}

/** Prints the events of one response, to its end. */
async function follow(
  call: Invocation,
  source: Source,
  {
    counted,
    signal,
    lastId,
    reached,
  }: Following & {
    /** The last id that was read; `undefined`: none yet. */
    readonly lastId: string | undefined;
    readonly reached: (id: string | undefined) => void;
  },
): Promise<void> {
  const silent = new AbortController();
  let cancel = monotonicTimers.after(SILENT_MS, () => silent.abort());
  try {
    const response = await openServer(await streamUrl(source, call.given.value('after')), {
      headers: lastId === undefined ? {} : { 'last-event-id': lastId },
      ...(source.unix === undefined ? {} : { unix: source.unix }),
      signal: AbortSignal.any([signal, silent.signal]),
      shown: source.shown,
      hint: 'Is the server running? Check --url: it must be the address of clients.',
    });
    const { status, body } = response;
    const isForNow = status >= 500 || response.headers.has('retry-after');
    if (status !== 200 || body === null) {
      if (isForNow) return;
      throw new Refused(`${source.shown} refuses with ${status}: ${await response.text()}`);
    }
    for await (const block of streamBlocks(body)) {
      cancel();
      cancel = monotonicTimers.after(SILENT_MS, () => silent.abort());
      if (print(call, block)) counted();
      // Only now: an event that was not printed must come again.
      if (block.data !== undefined) reached(block.id);
      if (signal.aborted) return;
    }
  } finally {
    cancel();
  }
}

/** Prints an event or a gap. Returns whether it was an event. */
function print({ given, output }: Invocation, { event, data }: StreamBlock): boolean {
  if (data === undefined || event === 'pusher') return false;
  const isJson = given.has('json');
  const time = timeOf(Date.now());
  if (event === 'gap') {
    const gap = gapShape.parse(JSON.parse(data));
    const words = `${time}  ${gap.channel}  Events are missing here: ${gap.why}`;
    output.print(isJson ? JSON.stringify({ gap }) : printable(words));
    return false;
  }
  const shown = eventShape.parse(JSON.parse(data));
  const wanted = given.value('event');
  if (wanted !== undefined && wanted !== shown.event) return false;
  const text = typeof shown.data === 'string' ? shown.data : JSON.stringify(shown.data);
  output.print(isJson ? data : printable(`${time}  ${shown.channel}  ${shown.event}  ${text}`));
  return true;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function numberOf(given: Arguments, name: string): number | undefined {
  const text = given.value(name);
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw new UsageError(`--${name} must be a whole number of at least 1, not "${text}"`);
}
