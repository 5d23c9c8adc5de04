import { NONE } from '../lists.ts';
import type { View } from '../model.ts';
import type { Recording } from '../recording.ts';
import { type MakeRule, seconds } from '../rule.ts';

/** Nobody receives what was not sent to them. */
export const known: MakeRule = (recording, report) => ({
  see: {
    event({ c, n, ch, e, t }, view, event) {
      report.checked();
      const fault =
        event === NONE
          ? `which ${recording.events.isSent(e) ? 'was sent to another channel' : 'nobody has sent'}`
          : faultOf(recording, view, event, t);
      if (fault === undefined) return;
      const text = `client ${c} received event ${e} in ${ch} at ${seconds(t)}, connection ${n}, ${fault}`;
      report.broken({ channel: ch, client: c, events: [e], t, text });
    },
  },
  end() {
    const { events } = recording;
    // An answer may come after the event that it refuses.
    for (let event = 0; event < events.size; event++) {
      const t = recording.at(events.seen.get(event));
      if (t === Number.POSITIVE_INFINITY || !events.isRefused(event)) continue;
      const name = events.nameOf(event);
      const channel = recording.channelOf(event).name;
      const text = `event ${name} was refused, but received in ${channel} at ${seconds(t)}`;
      report.broken({ channel, events: [name], t, text });
    }
  },
});

function faultOf(
  recording: Recording,
  view: View | undefined,
  event: number,
  t: number,
): string | undefined {
  if (view === undefined) return 'to which it was not subscribed';
  const { events } = recording;
  const { socket, client } = view.connection;
  if (events.sender.get(event) === socket) return 'which it has sent itself';
  // A newcomer gets the copy that a cache channel remembers, whoever was excluded when it was sent.
  const isCopy =
    view.channel.isCached && view.received === 0 && events.sent.get(event) < view.confirmed;
  if (isCopy) return undefined;
  const accepted = events.accepted.get(event);
  const except = events.except.get(event);
  const owner = recording.ofSocket(except);
  // The socket that the client has now, or had when the event was answered.
  const wasOwn = owner?.client === client && owner.opened < accepted && accepted < owner.closed;
  if (except === socket || wasOwn) return 'which excludes its socket';
  // What a client resumes, and what newcomers get, may be older.
  const mayBeOlder = view.received < view.missed || view.channel.replays;
  if (accepted > view.asked || mayBeOlder || recording.mayBeAnother(event, t)) return undefined;
  return `which was answered at ${seconds(recording.at(accepted))}, before the subscription was asked for`;
}
