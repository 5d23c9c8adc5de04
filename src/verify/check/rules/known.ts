import type { LineOf } from '../../history/line.ts';
import type { Item, View } from '../model.ts';
import type { Recording } from '../recording.ts';
import { type Evidence, type Rule, seconds } from '../rule.ts';

/** Nobody receives what was not sent to them. */
export function known({ recording, findings }: Evidence): Rule {
  return {
    see: {
      event(line) {
        findings.checked('known');
        const fault = faultOf(recording, line);
        if (fault === undefined) return;
        const { c, n, ch, e, t } = line;
        const text = `client ${c} received event ${e} in ${ch} at ${seconds(t)}, connection ${n}, ${fault}`;
        findings.broken('known', { channel: ch, client: c, events: [e], t, text });
      },
    },
    end() {
      // An answer may come after the event that it refuses.
      for (const { sending, channel, seenAt: t } of recording.items) {
        if (t === Number.POSITIVE_INFINITY || sending.refusals < sending.attempts) continue;
        const { name } = sending;
        const text = `event ${name} was refused, but received in ${channel.name} at ${seconds(t)}`;
        findings.broken('known', { channel: channel.name, events: [name], t, text });
      }
    },
  };
}

function faultOf(recording: Recording, line: LineOf<'event'>): string | undefined {
  const { view, item } = recording.deliveryOf(line);
  if (item === undefined) {
    return `which ${recording.isSent(line.e) ? 'was sent to another channel' : 'nobody has sent'}`;
  }
  if (view === undefined) return 'to which it was not subscribed';
  const { sending } = item;
  if (sending.sender?.socket === view.connection.socket) return 'which it has sent itself';
  if (isExcluded(recording, item, view)) return 'which excludes its socket';
  if (sending.acceptedLine > view.askedLine || mayBeOlder(view)) return undefined;
  return `which was answered at ${seconds(sending.acceptedAt)}, before the subscription was asked for`;
}

/** Whether an event excludes the socket that the client had when it was answered, or has now. */
function isExcluded(recording: Recording, { sending }: Item, { connection }: View): boolean {
  const { except, acceptedAt } = sending;
  if (except === undefined) return false;
  if (except === connection.socket) return true;
  const owner = recording.ofSocket(except);
  return (
    owner?.client === connection.client &&
    owner.openedAt <= acceptedAt &&
    acceptedAt <= owner.closedAt
  );
}

/** Whether what comes now may be older than the subscription. */
function mayBeOlder({ channel, received, missed }: View): boolean {
  return channel.replays || received < missed || (channel.isCached && received === 0);
}
