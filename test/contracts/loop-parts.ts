import type { App } from '../../src/channels/app.ts';
import type { FakeClock } from '../../src/channels/hub.fixture.ts';
import type { AppWebhookEvent } from '../../src/channels/lifecycle/webhook-event.ts';
import { WebhookEvents } from '../../src/channels/lifecycle/webhook-events.ts';
import type { Audience } from '../../src/channels/ports.ts';
import { type SharedUsage, Usage } from '../../src/channels/usage.ts';
import type { Log } from '../../src/runtime/ports.ts';
import { RecordingAudience } from './loop-stage.ts';

const nothing = () => undefined;
export const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** What a loop gives to its engine. */
export function partsOfLoop(
  clock: FakeClock,
  reported: AppWebhookEvent[],
  shared?: SharedUsage,
  log: Log = silent,
) {
  const usage = new Usage(clock, log, { count: nothing }, shared);
  const webhooks = new WebhookEvents({
    clock,
    usage,
    sink: { emit: (event) => void reported.push(event) },
  });
  const audience = new RecordingAudience();
  const terminated: string[] = [];
  const terminate = (_: App, userId: string) => void terminated.push(userId);
  const broadcaster = { usage, audience: audience as unknown as Audience };
  return { webhooks, broadcaster, audience, terminated, terminate };
}
