import type { App } from '../../channels/app.ts';
import type { Hub } from '../../channels/hub.ts';
import { elementTexts, memberText } from '../../channels/json-slices.ts';
import type { Usage } from '../../channels/usage.ts';
import { textOf } from './body-text.ts';
import { ApiRefusal } from './problems.ts';
import type { Trigger } from './read-event.ts';
import { rateLimited } from './refuse-usage.ts';

/**
 * What a trigger takes of `limits.triggersPerSecond`. It is one for each event, as long as a body holds little else: to read
 * a megabyte that is no event takes as long as hundreds of events, whatever is answered to it.
 */

/** So much of a body that is no event costs as much as one. Bytes, or characters. */
const PER_EVENT = 10_240;

/** A body and the app whose it is. */
interface Sent {
  readonly hub: Hub;
  readonly app: App;
  readonly body: Uint8Array;
}

/** Takes one event of the rate before anything of a body is read: every body costs that, also one that is refused. */
export function refuseTrigger(usage: Usage, app: App): ApiRefusal | undefined {
  return usage.takeTriggers(app, 1) ? undefined : tooManyEvents(app);
}

/** Takes what the events of a body must at least be, by its size, before it is parsed; one of them is taken already. */
export function refuseWeight({ hub, app, body }: Sent): ApiRefusal | undefined {
  if (app.limits.triggersPerSecond === 0) return undefined;
  const least = leastEvents(app, body);
  return least === 1 || hub.usage.takeTriggers(app, least, 1) ? undefined : tooManyEvents(app);
}

/** Charges for a body that was read in vain. */
export function chargeRefused({ hub, app, body }: Sent): void {
  hub.usage.chargeTriggers(app, Math.floor(body.length / PER_EVENT) - leastEvents(app, body));
}

/** Where the texts of the events are in a body. */
export type EventTexts = (json: string) => readonly string[];

export const textOfOne: EventTexts = (json) => [json];
export const textsOfBatch: EventTexts = (json) => elementTexts(memberText(json, 'batch') ?? '[]');

/** Takes what is left to be taken for the events of a body, and charges for all that is no part of them. */
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

/** How many events a body must be: in JSON, a byte of data takes 6 at most; the rest is room for names. */
function leastEvents({ limits }: App, body: Uint8Array): number {
  return 1 + Math.floor(body.length / (8 * limits.eventDataBytes + 32_768));
}

/** How much of a body is neither data nor the name of a channel. */
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
