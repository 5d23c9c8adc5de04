import { z } from 'zod';
import { printable } from '../../runtime/logging/printable.ts';
import { fail, type Invocation } from '../invocation.ts';
import { JSON_OPTION, LIMIT_OPTION, type Option } from '../options.ts';
import { stopSignal } from '../serving/signals.ts';
import { streamEvents } from './event-stream.ts';
import { SERVER_OPTIONS, serverCommand } from './running-server.ts';
import { endShape, timeOf } from './shown-record.ts';
import { WORDS } from './tail.ts';

export const LOG_OPTIONS: readonly Option[] = [
  { name: 'level', value: 'LEVEL', help: 'The least level: debug, info, warn or error.' },
  {
    name: 'text',
    value: 'TEXT',
    help: 'Only lines with this text in the message or as field=value.',
  },
  LIMIT_OPTION,
  {
    name: 'follow',
    help: 'Go on with the lines to come of the server that is asked, until it is stopped.',
  },
  ...SERVER_OPTIONS,
  { ...JSON_OPTION, help: 'Print each line as one line of JSON, for programs.' },
];

const lineShape = z.object({
  n: z.number(),
  atMs: z.number(),
  level: z.string(),
  message: z.string(),
  fields: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  server: z.string().optional(),
});

const linesShape = z.object({
  /** The one that was asked comes first. */
  servers: z.array(z.object({ name: z.string(), away: z.boolean() })).default([]),
  lines: z.array(lineShape),
  skipped: z.number().default(0),
});

type Line = z.output<typeof lineShape>;

/** `fanfare log`: prints the last lines of a server's log, and follows it. */
export const showLog = serverCommand(async (call) => {
  const query = new URLSearchParams();
  for (const name of ['level', 'text'] as const) {
    const value = call.given.value(name);
    if (value !== undefined) query.set(name, value);
  }
  const limit = call.given.value('limit') ?? '50';
  const body = await call.api.ask('GET', `/log?${query}&limit=${encodeURIComponent(limit)}`);
  let last = printLines(call, body) ?? 0;
  if (!call.given.has('follow')) return 0;

  const stopped = new AbortController();
  void stopSignal().first.then(() => stopped.abort());
  const { signal } = stopped;
  try {
    for (;;) {
      const stream = await call.api.stream(`/log/stream?${query}&after=${last}`, signal);
      let why = 'lost';
      for await (const { name, data } of streamEvents(stream)) {
        if (name === 'lines') last = printLines(call, data) ?? last;
        if (name === 'end') ({ why } = endShape.parse(data));
      }
      // A stream ends after half an hour. The next one continues after the last line.
      if (why !== 'time') return fail(call, `the stream has ended: ${WORDS[why] ?? why}`);
    }
  } catch (error) {
    if (signal.aborted) return 0;
    throw error;
  }
});

/** Prints lines, and gives the number of the last one of the server that was asked. */
function printLines({ given, output }: Invocation, data: unknown): number | undefined {
  const { servers, lines, skipped } = linesShape.parse(data);
  const away = servers.filter((one) => one.away).map(({ name }) => name);
  if (away.length > 0) output.complain(`fanfare: no lines of ${away.join(', ')}: no answer`);
  if (skipped > 0) output.print(`Too many to show, left out: ${skipped} lines`);
  for (const line of lines) {
    output.print(
      given.has('json') ? JSON.stringify(line) : printable(textOf(line, servers.length > 1)),
    );
  }
  const [asked] = servers;
  return lines.findLast(({ server }) => server === asked?.name)?.n;
}

function textOf({ atMs, level, message, fields, server }: Line, isOneOfSeveral: boolean): string {
  const words = Object.entries(fields).map(([name, value]) => `${name}=${value}`);
  const where = isOneOfSeveral && server !== undefined ? [server] : [];
  const start = `${timeOf(atMs)}  ${level.toUpperCase().padEnd(5)}  ${message}`;
  return [start, ...words, ...where].join('  ');
}
