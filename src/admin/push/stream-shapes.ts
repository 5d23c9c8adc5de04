import { z } from 'zod';
import { pushTapKinds } from '../../push/watching/push-tap.ts';
import { missed, nodes } from '../channels/stream-shapes.ts';
import { devicePlatform } from './device-shapes.ts';

const count = z.int().min(0);
const optional = (description: string) => z.string().optional().describe(description);

const byKind = z.partialRecord(z.enum(pushTapKinds), count);

const record = z
  .strictObject({
    n: count.describe('Numbers the events of the instance on this server.'),
    atMs: count.describe('When it happened: milliseconds since 1970.'),
    node: z.string().describe('The server where it happened.'),
    kind: z
      .enum(pushTapKinds)
      .describe(
        'Of publishes: `published`, `planned` (a page of devices), `publish-refused` (a gateway refuses it for every device), `cancelled`, `finished`. Of one device: `accepted`, `retry`, `failed`, `expired`, `pruned` (its token is dead), `delivered` and `opened` (as the device reports). Of gateways: `paused`, `resumed`. Of registrations: `registered`, `removed`.',
      ),
    publish: optional('The id of the publish.'),
    device: optional('The id of the device.'),
    user: optional('The user of the device.'),
    platform: devicePlatform.optional(),
    target: optional(
      'The interests or users that a publish is for. Users are missing for callers who may not see payloads.',
    ),
    dueAtMs: count
      .optional()
      .describe('When the publish is sent, or the device is tried again: milliseconds since 1970.'),
    devices: count.optional().describe('Devices of the page, or devices that were removed.'),
    attempts: count.optional().describe('Attempts to reach the device that failed.'),
    reason: optional(''),
    words: optional('The text of the gateway.'),
    origin: optional('The push service that a pause is of.'),
  })
  .meta({ id: 'InstanceStreamEvent' });

/** The data of each server-sent event of the live stream of an instance, by its name. */
export const pushStreamEvents: Readonly<Record<string, z.ZodType>> = {
  hello: z.strictObject({
    node: z.string().describe('The server that answers.'),
    instance: z.string(),
    kinds: z
      .array(z.enum(pushTapKinds))
      .nullable()
      .describe('The kinds that are shown; null: all.'),
    perTick: count.describe('The limit of events that one server shows per tick.'),
    tickMs: count,
    nodes,
  }),
  batch: z.strictObject({
    events: z.array(record),
    updates: z.array(z.never()).describe('Always empty.'),
    skipped: byKind.describe(
      'Events of the kinds asked for that were left out because there were too many, by kind.',
    ),
    missed,
  }),
  nodes: z.strictObject({ nodes }),
  counts: z.strictObject({
    kinds: byKind.describe('All events of the instance in the last second, whatever is shown.'),
    publishes: busiest('The ten busiest publishes'),
    reasons: busiest('The ten most frequent reasons'),
  }),
  end: z.strictObject({
    why: z.enum(['time', 'stopping', 'instance-gone', 'session-ended', 'displaced']),
  }),
};

function busiest(what: string) {
  return z
    .array(z.strictObject({ name: z.string(), events: count }))
    .describe(`${what}; those beyond the first 1,000 of a second are not counted.`);
}
