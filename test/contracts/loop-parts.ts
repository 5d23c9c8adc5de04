import type { App } from '../../src/channels/app.ts';
import type { FakeClock } from '../../src/channels/hub.fixture.ts';
import type { AppWebhookEvent } from '../../src/channels/lifecycle/webhook-event.ts';
import { WebhookEvents } from '../../src/channels/lifecycle/webhook-events.ts';
import type { Audience, WebhookSink } from '../../src/channels/ports.ts';
import { Usage } from '../../src/channels/usage.ts';
import { TableMeter } from '../../src/observability/meter.ts';
import { RecordingAudience } from './loop-stage.ts';

const nothing = () => undefined;
export const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** What a loop gives to its engine. */
export function partsOfLoop(
  clock: FakeClock,
  reported: AppWebhookEvent[],
  emit: WebhookSink['emit'] = (event) => void reported.push(event),
) {
  const usage = new Usage(clock, silent, { count: nothing });
  const webhooks = new WebhookEvents({
    clock,
    usage,
    sink: { emit },
  });
  const audience = new RecordingAudience();
  const terminated: string[] = [];
  const terminate = (_: App, userId: string) => void terminated.push(userId);
  const broadcaster = { usage, audience: audience as unknown as Audience };
  return { webhooks, broadcaster, audience, terminated, terminate, meter: new TableMeter() };
}
