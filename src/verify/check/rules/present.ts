import type { Recording } from '../recording.ts';
import { Roster } from '../roster.ts';
import { type MakeRule, seconds } from '../rule.ts';

/** The users of a difference that are named. */
const NAMED_MAX = 5;

/** How long nothing must have changed. Milliseconds. */
const CALM_MS = 5000;

/** While nothing changes, every list of members is exactly the users who are subscribed, and so is the answer of the HTTP API. */
export const present: MakeRule = (recording, report) => {
  const compare = (t: number, channel: string, list: Roster, client: number | null) => {
    report.checked();
    const { present: right } = recording.channelNamed(channel);
    if (list.equals(right)) return;
    const whose =
      client === null
        ? `the answer to GET users of ${channel}`
        : `the list of ${channel} that client ${client} has`;
    const text = `${whose}${difference(list, right)}, at ${seconds(t)}, when nothing had changed for 5 s`;
    report.broken({ channel, client, t, text });
  };
  return {
    see: {
      calm({ t }) {
        if (!isCalm(recording, t)) return;
        for (const { name, live } of recording.channels) {
          for (const { members, connection } of live) {
            if (members !== undefined) compare(t, name, members, connection.client.id);
          }
        }
      },
      users({ t, ch, status, users }) {
        if (status === 200 && isCalm(recording, t)) compare(t, ch, new Roster(users), null);
      },
    },
  };
};

/** Whether nothing has changed for so long, and no fault lasts, that everything must be right. */
export function isCalm({ changedAt, faults }: Recording, at: number): boolean {
  return at - changedAt >= CALM_MS && faults.hasSettled(at);
}

function difference(given: Roster, right: Roster): string {
  const named = (users: readonly string[]) => users.slice(0, NAMED_MAX).join(', ');
  const lacks = named(right.users.filter((user) => !given.has(user)));
  const has = named(given.users.filter((user) => !right.has(user)));
  const parts = [lacks && ` lacks ${lacks}`, has && ` has ${has}, who is not subscribed`];
  return parts.filter((part) => part).join(' and');
}
