import { type MakeRule, seconds } from '../rule.ts';
import { isCalm } from './present.ts';

/** While nothing changes, the last count that a subscriber was told is the number of subscriptions. */
export const counts: MakeRule = (recording, report) => ({
  see: {
    calm({ t }) {
      if (!isCalm(recording, t)) return;
      for (const { name: channel, live } of recording.channels) {
        for (const { count, connection } of live) {
          if (count === undefined) continue;
          report.checked();
          if (count === live.size) continue;
          const client = connection.client.id;
          const text = `client ${client} was last told of ${count} subscriptions of ${channel}, but there were ${live.size} at ${seconds(t)}, when nothing had changed for 5 s`;
          report.broken({ channel, client, t, text });
        }
      }
    },
  },
});
