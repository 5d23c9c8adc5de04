import type { App } from '../../../channels/app.ts';
import type { Hub } from '../../../channels/hub.ts';
import type { Usage } from '../../../channels/usage/usage.ts';
import { elementTexts, memberText } from '../../../runtime/json-slices.ts';
import { textOf } from '../body-text.ts';
import { ApiRefusal } from '../problems.ts';
import { rateLimited } from '../refuse-usage.ts';
import type { Trigger } from './read-event.ts';

/**
 * What a request takes from `limits.triggersPerSecond`: one for each event, and one more for each 10 KiB of its body that is
 * neither data nor names of channels. Reading a megabyte without events takes as long as reading hundreds of events.
 */

/** Bytes, or characters, that cost as much as one event. */
const PER_EVENT = 10_240;

/** A body, and the app that sent it. */
interface Sent {
  readonly hub: Hub;
  readonly app: App;
  readonly body: Uint8Array;
}

/** Takes one event from the rate before the body is read: even a refused body costs that. */
export function refuseTrigger(usage: Usage, app: App): ApiRefusal | undefined {
  return usage.takeTriggers(app, 1) ? undefined : tooManyEvents(app);
}

/** Takes the least number of events that a body of this size must cost, before it is parsed. One is taken already. */
export function refuseWeight({ hub, app, body }: Sent): ApiRefusal | undefined {
  if (app.limits.triggersPerSecond === 0) return undefined;
  const least = leastEvents(app, body);
  return least === 1 || hub.usage.takeTriggers(app, least, 1) ? undefined : tooManyEvents(app);
}

/** Charges for a body that was read and then refused. */
export function chargeRefused({ hub, app, body }: Sent): void {
  hub.usage.chargeTriggers(app, Math.floor(body.length / PER_EVENT) - leastEvents(app, body));
}

/** Finds the JSON texts of the events in a body. */
export type EventTexts = (json: string) => readonly string[];

export const textOfOne: EventTexts = (json) => [json];
export const textsOfBatch: EventTexts = (json) => elementTexts(memberText(json, 'batch') ?? '[]');

/** Takes the events of a body that are not taken yet, and charges for the rest of the body. */
export function refuseEvents(
  { hub, app, body }: Sent,
  triggers: readonly Trigger[],
  eventTexts: EventTexts,
): ApiRefusal | undefined {
  if (app.limits.triggersPerSecond === 0) return undefined;
  const events = triggers.length;
  const taken = leastEvents(app, body);
  if (body.length >= (events + 1) * PER_EVENT) {
    const spare = spareCharacters(body, triggers, eventTexts);
    hub.usage.chargeTriggers(app, Math.floor(spare / PER_EVENT) - Math.max(events, taken));
  }
  return hub.usage.takeTriggers(app, events, taken) ? undefined : tooManyEvents(app);
}

/** The least cost of a body, in events: a byte of data takes up to 6 in JSON, and the rest is room for names. */
function leastEvents({ limits }: App, body: Uint8Array): number {
  return 1 + Math.floor(body.length / (8 * limits.eventDataBytes + 32_768));
}

/** Counts the characters of a body that are neither data nor names of channels. */
function spareCharacters(
  body: Uint8Array,
  triggers: readonly Trigger[],
  eventTexts: EventTexts,
): number {
  const json = textOf(body);
  if (json instanceof ApiRefusal) return body.length;
  let spare = json.length;
  for (const text of eventTexts(json)) spare -= memberText(text, 'data')?.length ?? 0;
  for (const { channels } of triggers) for (const { text } of channels) spare -= text.length;
  return spare;
}

function tooManyEvents(app: App): ApiRefusal {
  return rateLimited(`Too many events: at most ${app.limits.triggersPerSecond} per second`);
}
