import { z } from 'zod';
import { printable } from '../../runtime/logging/printable.ts';
import { countOf, fail, printResult } from '../invocation.ts';
import { JSON_OPTION, LIMIT_OPTION, limitOf, type Option, operandsOf } from '../options.ts';
import { SERVER_OPTIONS, serverCommand } from './running-server.ts';

export const HISTORY_OPTIONS: readonly Option[] = [
  LIMIT_OPTION,
  { name: 'before', value: 'EVENT-ID', help: 'Only events before this one.' },
  {
    name: 'after',
    value: 'EVENT-ID',
    help: 'What a client gets whose last event was this one, oldest first.',
  },
  ...SERVER_OPTIONS,
  JSON_OPTION,
];

const historyShape = z.object({
  name: z.string(),
  rule: z.object({ seconds: z.number(), events: z.number() }).nullable(),
  events: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      data: z.string().nullable(),
      bytes: z.number(),
      atMs: z.number(),
    }),
  ),
  more: z.boolean(),
  complete: z.boolean().nullable(),
});

type History = z.output<typeof historyShape>;

/** `fanfare history`: prints the kept events of a channel, or what a client gets after one. */
export const history = serverCommand(async (call) => {
  const { given, api } = call;
  const [app, channel] = operandsOf(given, ['APP', 'CHANNEL']);
  const query = new URLSearchParams({ limit: String(limitOf(given)) });
  for (const name of ['before', 'after'] as const) {
    const value = given.value(name);
    if (value !== undefined) query.set(name, value);
  }
  const path = `/apps/${encodeURIComponent(app)}/channels/${encodeURIComponent(channel)}/history`;
  const body = await api.ask('GET', `${path}?${query}`);
  const shown = historyShape.parse(body);
  if (shown.rule === null) {
    return fail(call, `the channel keeps no history; see "history" in the settings of the app`);
  }
  return printResult(call, { json: body, text: describe(shown).map(printable).join('\n') });
});

function describe({ name, rule, events, more, complete }: History): readonly string[] {
  const lines = events.map(
    ({ id, name: event, data, bytes, atMs }) =>
      `${new Date(atMs).toISOString()}  ${id}  ${event}  ${data ?? `(${bytes} bytes, hidden or encrypted)`}`,
  );
  if (more) {
    const last = events.at(-1)?.id ?? '';
    lines.push(`There are more: --${complete === null ? 'before' : 'after'} ${last}`);
  }
  const kept = `${countOf(rule?.events ?? 0, 'event')} of the last ${rule?.seconds} s`;
  if (complete === null) {
    return lines.length > 0 ? lines : [`${name} has no kept events. It keeps up to ${kept}.`];
  }
  if (!complete) {
    return [
      `A client whose last event was this one learns of a gap: later events were forgotten, or the id is not from this history. The channel keeps up to ${kept}.`,
      ...lines,
    ];
  }
  const missed = more ? `${events.length} events and more` : countOf(events.length, 'event');
  return [`A client whose last event was this one gets ${missed}.`, ...lines];
}
