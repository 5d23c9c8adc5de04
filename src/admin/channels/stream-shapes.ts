import { z } from 'zod';
import { tapKinds } from '../../channels/watching/tap.ts';

const count = z.int().min(0);
const optional = (description: string) => z.string().optional().describe(description);

const byKind = z.partialRecord(z.enum(tapKinds), count);

/** The servers whose events a stream shows. */
export const nodes = z
  .array(
    z.strictObject({
      name: z.string(),
      away: z.boolean().describe('Whether it has been silent for 5 s. Its events are missing.'),
    }),
  )
  .describe('The servers whose events are shown: this one, and those that have answered.');

export const missed = count.describe(
  'How many of the skipped ones were left out because this reader was too slow. They came before `events`.',
);

const record = z
  .strictObject({
    n: count.describe('Numbers the events of the app on this server.'),
    atMs: count.describe('When it happened: milliseconds since 1970.'),
    node: z.string().describe('The server where it happened.'),
    kind: z.enum(tapKinds),
    socket: optional('The connection that did it, or that it was done to.'),
    user: optional('Its user.'),
    channel: optional(''),
    event: optional('The name of the event.'),
    data: optional(
      'Up to 1 KiB. Missing for encrypted channels, and for callers who may not see payloads.',
    ),
    bytes: count.optional().describe('The true length of the data.'),
    receivers: count
      .optional()
      .describe('How many connections an event was sent to so far; an update may raise it.'),
    except: optional('The connection that did not get the event.'),
    key: optional('The key of the app that signed the request; missing if an operator sent it.'),
    code: z.int().optional().describe('Of the `pusher:error` or the close.'),
    reason: optional(''),
    advice: optional('What to do about it.'),
    transport: optional('What carries the connection.'),
    count: count.optional().describe('A subscription count.'),
    host: optional('Where a webhook was sent.'),
    status: z.int().optional().describe("The HTTP status of a webhook's answer."),
    outcome: optional('What became of an attempt to send a webhook.'),
  })
  .meta({ id: 'AppStreamEvent' });

const busiest = z
  .array(z.strictObject({ name: z.string(), events: count }))
  .describe('The ten busiest; names beyond the first 1,000 of a second are not counted.');

/** The data of each server-sent event of a live stream, by its name. */
export const streamEvents: Readonly<Record<string, z.ZodType>> = {
  hello: z.strictObject({
    node: z.string().describe('The server that answers.'),
    app: z.string(),
    kinds: z.array(z.enum(tapKinds)).nullable().describe('The kinds that are shown; null: all.'),
    perTick: count.describe('The limit of events that one server shows per tick.'),
    tickMs: count,
    payloads: z.enum(['show', 'hide']),
    nodes,
  }),
  batch: z.strictObject({
    events: z.array(record),
    updates: z
      .array(
        z.strictObject({
          n: count,
          receivers: count.optional(),
          near: optional(
            'The occupied channel that was most likely meant. Set if the event had no receivers.',
          ),
          reason: optional('Why the event had no receivers although the channel is occupied.'),
          advice: optional(''),
        }),
      )
      .describe('What became known of earlier events, by their `n`.'),
    skipped: byKind.describe(
      'Events of the kinds asked for that were left out because there were too many, by kind.',
    ),
    missed,
  }),
  nodes: z.strictObject({ nodes }),
  counts: z.strictObject({
    kinds: byKind.describe('All events of the app in the last second, whatever is shown.'),
    channels: busiest,
    names: busiest,
  }),
  end: z.strictObject({
    why: z.enum(['time', 'stopping', 'app-gone', 'session-ended', 'displaced']),
  }),
};
