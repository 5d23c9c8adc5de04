import { z } from 'zod';
import { printable } from '../../runtime/logging/printable.ts';
import { countOf } from '../invocation.ts';

/** Text from a server, on one line and without control characters. */
const text = z.string().transform(printable).optional();

const record = z.object({
  n: z.number(),
  atMs: z.number(),
  kind: z.string().transform(printable),
  socket: text,
  user: text,
  channel: text,
  event: text,
  data: text,
  bytes: z.number().optional(),
  receivers: z.number().optional(),
  code: z.number().optional(),
  reason: text,
  count: z.number().optional(),
  host: text,
  status: z.number().optional(),
  outcome: text,
  publish: text,
  device: text,
  platform: text,
  target: text,
  devices: z.number().optional(),
  attempts: z.number().optional(),
  dueAtMs: z.number().optional(),
  words: text,
  origin: text,
});

/** A batch of a live stream, as far as it is printed. */
export const batchShape = z.object({
  events: z.array(record),
  updates: z.array(z.object({ n: z.number(), near: text, reason: text })),
  skipped: z.record(z.string().transform(printable), z.number()),
  /** Older servers do not say it. */
  missed: z.number().default(0),
});

export const endShape = z.object({ why: z.string().transform(printable) });

type Shown = z.output<typeof record>;

const KIND_WIDTH = 14;

/** Shows a record on one line. */
export function recordLine(one: Shown): string {
  const { kind, channel, event, socket, user, receivers, bytes, data, count } = one;
  const { code, reason, host, status, outcome } = one;
  const { publish, device, platform, target, devices, attempts, dueAtMs, words, origin } = one;
  const parts = [
    publish,
    device,
    platform,
    target,
    origin,
    devices === undefined ? undefined : countOf(devices, 'device'),
    channel,
    event,
    socket,
    user === undefined ? undefined : `user ${user}`,
    receivers === undefined ? undefined : `${countOf(receivers, 'connection')} received it`,
    count === undefined ? undefined : countOf(count, 'subscription'),
    host,
    outcome,
    status,
    code,
    reason,
    words,
    attempts === undefined ? undefined : `after ${countOf(attempts, 'attempt')}`,
    dueAtMs === undefined ? undefined : `due ${new Date(dueAtMs).toISOString()}`,
    bytes === undefined ? undefined : countOf(bytes, 'byte'),
    data,
  ];
  const shown = parts.filter((part) => part !== undefined).join('  ');
  return `${timeOf(one.atMs)}  ${kind.padEnd(KIND_WIDTH)}  ${shown}`.trimEnd();
}

/** Local time with milliseconds. */
export function timeOf(atMs: number): string {
  const date = new Date(atMs);
  const parts = [date.getHours(), date.getMinutes(), date.getSeconds()];
  const time = parts.map((part) => String(part).padStart(2, '0')).join(':');
  return `${time}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}
