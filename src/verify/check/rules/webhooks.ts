import type { LineOf } from '../../history/line.ts';
import type { Channel, Stay } from '../model.ts';
import { REPORTED_MS, type Recording } from '../recording.ts';
import { type MakeRule, seconds } from '../rule.ts';

type Webhook = LineOf<'webhook'>;

/** The two events that alternate, of users and of whole channels. */
const pairs = [
  { begin: 'member_added', end: 'member_removed', ofUser: true },
  { begin: 'channel_occupied', end: 'channel_vacated', ofUser: false },
] as const;

type Pair = (typeof pairs)[number];

/** How long nothing must have changed before the last webhook must be true. Milliseconds. */
const CALM_MS = 10_000;

/** Joins stays with an absence between them that no server may have noticed. */
function withoutUnnoticed(stays: readonly Stay[], { faults, header }: Recording): readonly Stay[] {
  // A busy server sees the end of a stay later than the client has sent it.
  const unnoticedMs = REPORTED_MS + header.T;
  const mayBeUnnoticed = (gone: number, back: number) =>
    back - gone <= unnoticedMs || faults.mayHide(gone, back);
  const joined: Stay[] = [];
  for (const stay of stays) {
    const before = joined.at(-1);
    if (before !== undefined && mayBeUnnoticed(before.until, stay.from)) {
      before.until = stay.until;
    } else joined.push({ ...stay });
  }
  return joined;
}

/** No webhook tells of the channel of a user, which nobody subscribes to by name. */
function isReported({ name }: Channel): boolean {
  return !name.startsWith('#');
}

function hasLongStay({ stays }: Channel): boolean {
  return [...stays.values()].some((all) =>
    all.some(({ from, until }) => until - from > REPORTED_MS),
  );
}

/** Each stay longer than 3 s is reported, each once, and in the end what was reported last is true. */
export const webhooks: MakeRule = (recording, report) => {
  /** Without those that were sent again. By pair and channel, then by user. */
  const events = new Map<string, Map<string, Webhook[]>>();
  const requests = new Set<string>();
  let current: string | undefined;
  let isRepeated = false;
  /** The last moment when all webhooks must have come. */
  let calmAt = -1;
  /** From the clock of the servers to that of the history: no webhook comes before it was made. */
  let clockMs = Number.POSITIVE_INFINITY;

  const usersOf = ({ begin }: Pair, channel: string) => {
    const key = `${begin} ${channel}`;
    const users = events.get(key) ?? new Map<string, Webhook[]>();
    events.set(key, users);
    return users;
  };

  /** `from` and `to`: when what is missing may have been lost. */
  const broken = (channel: string, t: number, text: string, [from, to] = [t, t]) => {
    const excuse = recording.faults.excuse('webhooks', from, to);
    report.broken({ channel, t, text }, excuse);
  };

  const checkOrder = (
    { end }: Pair,
    channel: string,
    about: string,
    ordered: readonly Webhook[],
  ) => {
    let before: Webhook | undefined;
    for (const event of ordered) {
      report.checked();
      const { name, t } = event;
      if (name === (before?.name ?? end)) {
        const times =
          before === undefined
            ? `at ${seconds(t)} first`
            : `twice, ${seconds(before.t)} and ${seconds(t)}`;
        // The first may have come long after it was made, such as from a server that was killed in between.
        const from = before === undefined ? t : Math.min(before.t, before.time + clockMs);
        const text = `${name} of ${about} came ${times}`;
        broken(channel, t, text, [from, t]);
      }
      before = event;
    }
  };

  /** Compares what was reported with who was there. */
  const checkStays = (
    { begin }: Pair,
    { name, stays: all }: Channel,
    user: string,
    ordered: readonly Webhook[],
  ) => {
    report.checked();
    const about = user === '' ? name : `${user} in ${name}`;
    const stays = all.get(user) ?? [];
    const last = stays.at(-1);
    const isThere = last?.until === Number.POSITIVE_INFINITY;
    if (isThere !== (ordered.at(-1)?.name === begin)) {
      const changedAt = (isThere ? last?.from : last?.until) ?? 0;
      const said = ordered.at(-1)?.name ?? 'nothing';
      const text = `${said} of ${about} is the last webhook, but since ${seconds(changedAt)} it is ${isThere ? 'there' : 'gone'}`;
      return broken(name, calmAt, text, [changedAt, changedAt]);
    }
    const long = withoutUnnoticed(stays, recording).filter(
      ({ from, until }) => until - from > REPORTED_MS,
    );
    const reported = ordered.filter((event) => event.name === begin).length;
    if (reported >= long.length) return;
    const text = `${begin} of ${about} came ${reported} times, for ${long.length} stays of more than 3 s`;
    broken(name, calmAt, text, [stays[0]?.from ?? 0, calmAt]);
  };

  const checkChannel = (pair: Pair, channel: Channel) => {
    const users = usersOf(pair, channel.name);
    const known = [...users.keys(), ...channel.stays.keys()].filter((user) => user !== '');
    for (const user of pair.ofUser ? new Set(known) : ['']) {
      // Requests may arrive in any order.
      const ordered = (users.get(user) ?? []).toSorted((a, b) => a.time - b.time);
      const about = user === '' ? channel.name : `${user} in ${channel.name}`;
      checkOrder(pair, channel.name, about, ordered);
      if (calmAt >= recording.changedAt) checkStays(pair, channel, user, ordered);
    }
  };

  return {
    see: {
      calm({ t }) {
        const isCalm = t - recording.changedAt >= CALM_MS;
        if (isCalm && recording.faults.haveWebhooksSettled(t)) calmAt = t;
      },
      webhook(line) {
        clockMs = Math.min(clockMs, line.t - line.time);
        const request = `${line.request} ${line.t}`;
        if (request !== current) {
          current = request;
          isRepeated = requests.has(line.request);
          requests.add(line.request);
        }
        const pair = pairs.find(({ begin, end }) => line.name === begin || line.name === end);
        if (isRepeated || pair === undefined) return;
        const users = usersOf(pair, line.ch);
        const user = pair.ofUser ? (line.user ?? '') : '';
        const known = users.get(user);
        if (known === undefined) users.set(user, [line]);
        else known.push(line);
      },
    },
    end() {
      const isTried = (pair: Pair) => [...events.keys()].some((key) => key.startsWith(pair.begin));
      const tried = pairs.filter(isTried);
      const channels = recording.channels.filter(isReported);
      const isWanted = recording.header.webhooks && calmAt >= 0 && channels.some(hasLongStay);
      if (tried.length === 0 && isWanted) broken('', calmAt, 'no webhook of these channels came');
      for (const pair of tried) {
        for (const channel of channels) checkChannel(pair, channel);
      }
    },
  };
};
