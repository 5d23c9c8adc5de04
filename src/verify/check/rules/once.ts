import { type MakeRule, seconds } from '../rule.ts';

/** A connection receives an event at most once; a client that resumes, at most once over all of its connections. */
export const once: MakeRule = (recording, report) => ({
  chain({ client, channel, events, lines }, doubles) {
    report.checked(events.length);
    for (const [first, again, event] of doubles) {
      const name = recording.events.nameOf(event);
      const t = recording.at(lines.get(again));
      if (recording.mayBeAnother(event, t)) continue;
      const times = `${seconds(recording.at(lines.get(first)))} and ${seconds(t)}`;
      const text = `client ${client.id} received event ${name} in ${channel.name} twice: ${times}`;
      report.broken({ channel: channel.name, client: client.id, events: [name], t, text });
    }
  },
});
