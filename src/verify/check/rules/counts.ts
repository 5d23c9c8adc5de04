import { type Evidence, type Rule, seconds } from '../rule.ts';
import { isCalm } from './present.ts';

/** While nothing changes, the last count that a subscriber was told is the number of subscriptions. */
export function counts({ recording, findings }: Evidence): Rule {
  return {
    see: {
      calm({ t }) {
        if (!isCalm(recording, t)) return;
        for (const { name, live } of recording.channels.values()) {
          for (const { count, connection } of live) {
            if (count === undefined) continue;
            findings.checked('counts');
            if (count === live.size) continue;
            const { id: client } = connection.client;
            const text = `client ${client} was last told of ${count} subscriptions of ${name}, but there were ${live.size} at ${seconds(t)}, when nothing had changed for 5 s`;
            findings.broken('counts', { channel: name, client, t, text });
          }
        }
      },
    },
  };
}
