import { type Evidence, type Rule, seconds } from '../rule.ts';

/** A connection receives an event at most once; a client that resumes, at most once over all of its connections. */
export function once({ recording, findings }: Evidence): Rule {
  return {
    end() {
      recording.clearMarks();
      for (const { client, channel, items, times, index } of recording.chains) {
        findings.checked('once', items.length);
        for (const [at, item] of items.entries()) {
          if (item.chain !== index) {
            item.chain = index;
            item.at = at;
            continue;
          }
          const [first, second] = [times[item.at] ?? 0, times[at] ?? 0];
          const { name } = item.sending;
          findings.broken('once', {
            channel: channel.name,
            client: client.id,
            events: [name],
            t: second,
            text: `client ${client.id} received event ${name} in ${channel.name} twice: ${seconds(first)} and ${seconds(second)}`,
          });
        }
      }
    },
  };
}
