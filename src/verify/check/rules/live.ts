import { faultKinds } from '../../history/line.ts';
import type { Connection } from '../model.ts';
import type { Published } from '../publishes.ts';
import { type MakeRule, seconds } from '../rule.ts';

/** During these, a user may have the event and be notified all the same. */
const BOTH = faultKinds.filter((what) => what !== 'gateway');

/** The first time that a client of a user has an event. */
interface Had {
  readonly t: number;
  readonly connection: Connection;
}

/** Of a publish with `live`, each user has the event in the app, or their devices are notified. */
export const live: MakeRule = (recording, report) => {
  /** By the name of an event that a publish has sent, then by user. */
  const had = new Map<string, Map<string, Had>>();
  const { T } = recording.header;
  const check = (
    { sent, notified, explained }: Published,
    user: string,
    devices: readonly string[],
  ) => {
    report.checked();
    const { p, live: event = '', t } = sent;
    const received = had.get(event)?.get(user);
    const [first] = devices.flatMap((device) => notified.get(device) ?? []);
    if (received === undefined) {
      // A device without a notification has a reason, unless the reason is that its user had the event.
      const reasons = devices.map((device) => explained.get(device) ?? 'live-reached');
      if (first !== undefined || reasons.some((reason) => reason !== 'live-reached')) return;
      const text = `user ${user} neither received event ${event} of ${p}, sent at ${seconds(t)}, nor was one of their devices notified`;
      return report.broken({ events: [event], t, text });
    }
    // The link was cut meanwhile, or the event came too late to count.
    if (first === undefined || received.t > t + T) return;
    if (recording.at(received.connection.closed) < first.t) return;
    if (recording.faults.any(BOTH, t, first.t)) return;
    const text = `user ${user} received event ${event} of ${p} at ${seconds(received.t)}, and device ${first.d} was notified at ${seconds(first.t)} all the same`;
    report.broken({ events: [event], t: first.t, text });
  };
  return {
    see: {
      publish({ live: event }) {
        if (event !== undefined && !had.has(event)) had.set(event, new Map());
      },
      event({ e, c, t }) {
        const users = had.get(e);
        if (users === undefined) return;
        const { user, connection } = recording.clients.get(c) ?? {};
        if (user === undefined || connection === undefined || users.has(user)) return;
        users.set(user, { t, connection });
      },
    },
    end() {
      for (const publish of recording.publishes.all.values()) {
        const { live: event, devices } = publish.sent;
        if (event === undefined || publish.acceptedAt + T > recording.t) continue;
        const byUser = Map.groupBy(Object.keys(devices), (device) => devices[device] ?? '');
        for (const [user, owned] of byUser) if (user !== '') check(publish, user, owned);
      }
    },
  };
};
