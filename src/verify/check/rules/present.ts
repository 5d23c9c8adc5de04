import { Roster } from '../beliefs.ts';
import type { View } from '../model.ts';
import type { Recording } from '../recording.ts';
import { type MakeRule, seconds } from '../rule.ts';
import type { Report } from '../verdict.ts';

/** The users of a difference that are named. */
const NAMED_MAX = 5;

/** How long nothing must have changed. Milliseconds. */
const CALM_MS = 5000;

/** While nothing changes, every list of members is exactly the users who are subscribed, and so is the answer of the HTTP API. */
export const present: MakeRule = (recording, report) => {
  const faultOf = (whose: string, list: Roster, { present: right }: { present: Roster }) =>
    list.fingerprint === right.fingerprint ? undefined : `${whose}${difference(list, right)}`;
  return {
    see: {
      calm: checkBeliefs(recording, report, 'lists', ({ channel, members, connection }) => {
        const whose = `the list of ${channel.name} that client ${connection.client.id} has`;
        return members === undefined ? undefined : faultOf(whose, members, channel);
      }),
      users({ t, ch: channel, status, users }) {
        if (status !== 200 || !isCalm(recording, t)) return;
        report.checked();
        const whose = `the answer to GET users of ${channel}`;
        const fault = faultOf(whose, new Roster(users), recording.channelNamed(channel));
        if (fault !== undefined) report.broken({ channel, t, text: fault + whenCalm(t) });
      },
    },
  };
};

/** Checks what subscribers were told. Looks at each of them only if some are wrong, and only until there are enough witnesses. */
export function checkBeliefs(
  recording: Recording,
  report: Report,
  of: 'lists' | 'counts',
  faultOf: (view: View) => string | undefined,
): (line: { readonly t: number }) => void {
  return ({ t }) => {
    if (!isCalm(recording, t)) return;
    const { all, wrong } = recording[of];
    report.checked(all);
    if (wrong === 0) return;
    if (report.isFull) return report.more(wrong);
    let left = wrong;
    for (const { name: channel, live } of recording.channels) {
      for (const view of live) {
        if (left === 0) return;
        const fault = faultOf(view);
        if (fault === undefined) continue;
        const client = view.connection.client.id;
        report.broken({ channel, client, t, text: fault + whenCalm(t) });
        left--;
      }
    }
  };
}

/** Whether nothing has changed for so long, and no fault lasts, that everything must be right. */
function isCalm({ changedAt, faults }: Recording, at: number): boolean {
  return at - changedAt >= CALM_MS && at >= faults.settledAt;
}

const whenCalm = (t: number) => `, at ${seconds(t)}, when nothing had changed for 5 s`;

function difference(given: Roster, right: Roster): string {
  const named = (users: readonly string[]) => users.slice(0, NAMED_MAX).join(', ');
  const lacks = named(right.users.filter((user) => !given.has(user)));
  const has = named(given.users.filter((user) => !right.has(user)));
  const parts = [lacks && ` lacks ${lacks}`, has && ` has ${has}, who is not subscribed`];
  return parts.filter((part) => part).join(' and');
}
