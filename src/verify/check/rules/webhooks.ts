import type { LineOf } from '../../history/line.ts';
import { type Fault, WRITTEN_MS } from '../faults.ts';
import { addTo } from '../lists.ts';
import type { Channel, Stay } from '../model.ts';
import { REPORTED_MS, type Recording } from '../recording.ts';
import { type MakeRule, seconds } from '../rule.ts';

/** How long what a client sent may be under way to the server. Milliseconds. */
const UNDER_WAY_MS = 1000;

type Webhook = LineOf<'webhook'>;

/** The two events that alternate, of whole channels and of users. */
const ofChannel = { begin: 'channel_occupied', end: 'channel_vacated' };
const ofUser = { begin: 'member_added', end: 'member_removed' };

/** How long nothing must have changed before the last webhook must be true. Milliseconds. */
const CALM_MS = 10_000;

/** The stays of a user, joined where no server may have noticed the absence between them. */
function noticedStays(channel: Channel, user: string, { faults, header }: Recording) {
  const { stays, attempts } = channel;
  const ends = channel.ends.get(user) ?? [];
  // A busy server sees the end of a stay later than the client has sent it.
  const unnoticedMs = REPORTED_MS + header.T;
  /** Connections of the user that ended before this absence may have counted as present until this time. */
  let countedUntil = Number.NEGATIVE_INFINITY;
  let seen = 0;
  const mayBeUnnoticed = (gone: number, back: number) => {
    for (let end = ends[seen]; end !== undefined && end < gone; end = ends[++seen]) {
      countedUntil = Math.max(countedUntil, faults.countedUntil(end));
    }
    return back - Math.max(gone, countedUntil) <= unnoticedMs || faults.mayHide(gone, back);
  };
  const unsure = new Set(attempts.get(user));
  const joined: Stay[] = [];
  let current: Stay | undefined;
  let goneSince = Number.NEGATIVE_INFINITY;
  for (const stay of [...(stays.get(user) ?? []), ...unsure].toSorted((a, b) => a.from - b.from)) {
    if (!mayBeUnnoticed(goneSince, stay.from)) current = undefined;
    goneSince = Math.max(goneSince, stay.until);
    if (unsure.has(stay)) continue;
    if (current === undefined) {
      current = { ...stay };
      joined.push(current);
    } else current.until = stay.until;
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
  /** Without those that were sent again. By channel, then by user; `''`: about the channel. */
  const events = new Map<string, Map<string, Webhook[]>>();
  const tried = new Set<typeof ofUser>();
  const requests = new Set<string>();
  let current: string | undefined;
  let isRepeated = false;
  /** The last moment when all webhooks must have come. */
  let calmAt = -1;
  /** From the clock of the servers to that of the history: no webhook comes before it was made. */
  let clockMs = Number.POSITIVE_INFINITY;

  const isOnly = ({ from }: Fault) => !recording.isOutlived(from);
  /** The kill with which a webhook was lost that was due between two times: of the only server, or before Redis lost its data. */
  const lost = (from: number, to: number) =>
    recording.faults.excuse('webhooks', from, to, isOnly) ??
    recording.faults.lostInheritance(from, to);
  /** Until when a server may be about to write what a client did at a time. Other faults can delay that. */
  const writtenBy = (t: number, dueMs: number) =>
    recording.faults.dueAfter(t, t + UNDER_WAY_MS + dueMs);
  const lostBegin = ({ from }: Stay) => lost(from, writtenBy(from, 0));
  /** An end is due only some time after it: the server may have been killed meanwhile. */
  const lostEnd = ({ until }: Stay) => lost(until, writtenBy(until, REPORTED_MS));

  /** Why the return of a user who was reported as gone may never be reported: only a killed server knew of that report. */
  const notBack = (gone: Webhook | undefined, { from }: Stay) =>
    gone !== undefined && recording.faults.any(['kill', 'power'], gone.t, from)
      ? recording.faults.unstatedLoss(gone.t, from)
      : undefined;

  /** Why the same may have been reported twice between two times, or the end of a stay first. */
  const whyTwice = (isBegin: boolean, stays: readonly Stay[], from: number, to: number) =>
    // Nothing in Redis says then that users were reported whom their server has not stated again.
    (isBegin ? recording.faults.unstatedLoss(from, to) : undefined) ??
    recording.faults.excuse('webhooks', from, to, (kill) => {
      // Who was there, or had left just before, is reported as added again.
      const mayBeLost = ({ from: came, until }: Stay) =>
        (isBegin ? writtenBy(until, REPORTED_MS) : writtenBy(came, 0)) >= kill.from - WRITTEN_MS;
      return isOnly(kill) && stays.some((stay) => stay.from <= kill.until && mayBeLost(stay));
    });

  const checkUser = (one: Channel, user: string) => {
    const { name: channel } = one;
    const { begin, end } = user === '' ? ofChannel : ofUser;
    const about = user === '' ? channel : `${user} in ${channel}`;
    const stays = one.stays.get(user) ?? [];
    const possible = [...stays, ...(one.attempts.get(user) ?? [])];
    const broken = (t: number, text: string, excuse?: string) =>
      report.broken({ channel, t, text }, excuse);
    // Requests may arrive in any order.
    const ordered = (events.get(channel)?.get(user) ?? []).toSorted((a, b) => a.time - b.time);
    for (const [at, { name, t }] of ordered.entries()) {
      report.checked();
      const before = ordered[at - 1];
      if (name !== (before?.name ?? end)) continue;
      const first = `at ${seconds(t)} first`;
      const times = before ? `twice, ${seconds(before.t)} and ${seconds(t)}` : first;
      // The first may have come long after it was made, such as from a server that was killed in between.
      const from = before === undefined ? 0 : Math.min(before.t, before.time + clockMs);
      broken(t, `${name} of ${about} came ${times}`, whyTwice(name === begin, possible, from, t));
    }
    if (calmAt < recording.changedAt) return;
    report.checked();
    const last = possible.reduce<Stay | undefined>(
      (latest, stay) => (latest === undefined || stay.until > latest.until ? stay : latest),
      undefined,
    );
    const isThere = last?.until === Number.POSITIVE_INFINITY;
    const said = ordered.at(-1)?.name ?? 'nothing';
    if (isThere !== (said === begin)) {
      const changedAt = (isThere ? last?.from : last?.until) ?? 0;
      const text = `${said} of ${about} is the last webhook, but since ${seconds(changedAt)} it is ${isThere ? 'there' : 'gone'}`;
      const why = isThere
        ? (lostBegin(last) ?? notBack(ordered.at(-1), last))
        : last && lostEnd(last);
      return broken(calmAt, text, why);
    }
    const long = noticedStays(one, user, recording).filter(
      ({ from, until }) => until - from > REPORTED_MS,
    );
    const reported = ordered.filter(({ name }) => name === begin).length;
    if (reported >= long.length) return;
    const text = `${begin} of ${about} came ${reported} times, for ${long.length} stays of more than 3 s`;
    const whyLost = long.flatMap((stay) => lostBegin(stay) ?? []);
    broken(calmAt, text, whyLost[long.length - reported - 1]);
  };

  return {
    see: {
      calm({ t }) {
        const isCalm = t - recording.changedAt >= CALM_MS;
        if (isCalm && t >= recording.faults.webhooksSettledAt) calmAt = t;
      },
      webhook(line) {
        clockMs = Math.min(clockMs, line.t - line.time);
        const request = `${line.request} ${line.t}`;
        if (request !== current) {
          current = request;
          isRepeated = requests.has(line.request);
          requests.add(line.request);
        }
        const pair = [ofUser, ofChannel].find(
          ({ begin, end }) => line.name === begin || line.name === end,
        );
        if (isRepeated || pair === undefined) return;
        tried.add(pair);
        const user = pair === ofUser ? line.user : '';
        const users = events.get(line.ch) ?? new Map<string, Webhook[]>();
        events.set(line.ch, users);
        if (user !== undefined) addTo(users, user, line);
      },
    },
    end() {
      const channels = recording.channels.filter(isReported);
      const isWanted = recording.header.webhooks && calmAt >= 0 && channels.some(hasLongStay);
      if (tried.size === 0 && isWanted) {
        report.broken({ t: calmAt, text: 'no webhook of these channels came' });
      }
      for (const channel of channels) {
        const reported = events.get(channel.name)?.keys() ?? [];
        for (const user of new Set([...reported, ...channel.stays.keys()])) {
          if (tried.has(user === '' ? ofChannel : ofUser)) checkUser(channel, user);
        }
      }
    },
  };
};
