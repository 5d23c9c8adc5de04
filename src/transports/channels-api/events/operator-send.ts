import type { App } from '../../../channels/app.ts';
import { ask } from '../../../channels/engine-failure.ts';
import type { Hub } from '../../../channels/hub.ts';
import { after, type MaybePromise, mapAll } from '../../../channels/maybe-promise.ts';
import { ApiRefusal } from '../problems.ts';
import { publishAll, takeTrigger } from './trigger.ts';
import { refuseTrigger } from './trigger-rate.ts';

/** The channels of an event that an operator sent. */
export interface OperatorSent {
  readonly channels: readonly {
    readonly name: string;
    /** Connections of all servers that were subscribed when the event was sent. */
    readonly receivers: number;
  }[];
}

/** Triggers an event under the rules and limits of `POST /events`, and returns how many connections received it. */
export function sendForOperator(
  hub: Hub,
  app: App,
  body: Uint8Array,
): MaybePromise<OperatorSent | ApiRefusal> {
  if (!app.enabled) return new ApiRefusal('app-disabled', 'The app is disabled');
  const tooMany = refuseTrigger(hub.usage, app);
  if (tooMany !== undefined) return tooMany;
  const trigger = takeTrigger({ hub, app, body, parameters: [] });
  if (trigger instanceof ApiRefusal) return trigger;
  const counted = mapAll(trigger.channels, (channel) =>
    after(
      ask('counts', () => hub.authority.counts(app, channel)),
      ({ subscriptions }) => ({ name: channel.text, receivers: subscriptions }),
    ),
  );
  return after(counted, (channels) =>
    after(publishAll({ hub, app }, [trigger]), () => ({ channels })),
  );
}
