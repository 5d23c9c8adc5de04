import { firstOf, NONE } from '../lists.ts';
import type { Chain, View } from '../model.ts';
import { type MakeRule, seconds } from '../rule.ts';

/** What is wrong with an event that somebody lacks, or has late. */
interface Lack {
  readonly rule: 'arrives' | 'resumes';
  readonly t: number;
  readonly what: string;
}

/**
 * What exists reaches everybody who was subscribed when it was sent. What a client that resumes lacks after a cut is broken
 * as `resumes`, everything else as `arrives`.
 */
export const arrives: MakeRule = (recording, report) => {
  const { header, faults, events } = recording;
  const time = (line: number) => recording.at(line);

  /** Whether a subscription has an event. The chain that it belongs to is the one that was marked last. */
  const has = ({ chain, from, received }: View, event: number) => {
    const at = events.at.get(event);
    return events.chain.get(event) === chain?.index && at >= from && at < from + received;
  };

  /** Whether a subscription that lacks an event lasted until it was due, or has events that come after it. */
  const isMissing = (view: View, event: number): boolean => {
    const line = events.since(event);
    const next = events.next.get(event);
    if (next !== NONE && has(view, next)) return true;
    if (line > view.ended) return false;
    if (view.latestSent > line) return true;
    const from = Math.max(time(line), time(view.confirmed));
    return faults.dueAfter(from, from + header.T) < Math.min(time(view.ended), recording.t);
  };

  const lateness = ({ views, lines }: Chain, event: number): Lack | undefined => {
    const at = events.at.get(event);
    const came = time(lines.get(at));
    const exists = time(events.since(event));
    if (came <= exists + header.T) return undefined;
    const view = views.findLast(({ from }) => from <= at);
    const possible = Math.max(exists, view === undefined ? 0 : time(view.confirmed));
    if (came <= faults.dueAfter(possible, possible + header.T)) return undefined;
    const rule = possible > exists ? 'resumes' : 'arrives';
    return { rule, t: came, what: `only at ${seconds(came)}` };
  };

  const lack = ({ views }: Chain, event: number): Lack | undefined => {
    const sent = events.sent.get(event);
    const live = views.find(({ confirmed, ended }) => confirmed < sent && sent < ended);
    if (live !== undefined && isMissing(live, event)) {
      return { rule: 'arrives', t: Math.min(time(live.ended), recording.t), what: 'never' };
    }
    // Client events are not kept.
    if (events.sender.get(event) !== NONE) return undefined;
    const later = views.find((view) => view.confirmed > sent && isMissing(view, event));
    if (later === undefined) return undefined;
    const t = time(later.confirmed);
    const what = `not even after the server said at ${seconds(t)} that nothing is lost`;
    return { rule: 'resumes', t, what };
  };

  /** Looks at an event that follows one that the client has, and that it lacks itself: whether it also has the next one. */
  const hole = ({ views, lines }: Chain, event: number): Lack | undefined => {
    const next = events.next.get(event);
    const view = next === NONE ? undefined : views.find((one) => has(one, next));
    if (view === undefined) return undefined;
    const at = events.at.get(next);
    // Client events are not kept.
    if (view.from === at && events.sender.get(event) !== NONE) return undefined;
    const rule = at - view.from < view.missed ? 'resumes' : 'arrives';
    const what = `never, but the next one, ${events.nameOf(next)}`;
    return { rule, t: time(lines.get(at)), what };
  };

  const broken = ({ client: { id: client }, channel }: Chain, event: number, found: Lack) => {
    const name = events.nameOf(event);
    const [sent, since] = [time(events.sent.get(event)), time(events.since(event))];
    const accepted = time(events.accepted.get(event));
    const exists =
      accepted === Number.POSITIVE_INFINITY
        ? `received by others from ${seconds(since)} on`
        : `answered with 200 at ${seconds(accepted)}`;
    const { rule, t, what } = found;
    const text = `client ${client} received event ${name} in ${channel.name} ${what}: it was sent at ${seconds(sent)}, and ${exists}`;
    const seen = { rule, channel: channel.name, client, events: [name], t, text };
    report.broken(seen, faults.excuse(rule, sent, since));
  };

  return {
    chain(chain) {
      const all = chain.channel.events;
      const isHere = (event: number) => events.chain.get(event) === chain.index;
      const first = chain.views[0]?.confirmed ?? Number.POSITIVE_INFINITY;
      const last = chain.views.at(-1)?.ended ?? 0;
      chain.events.each((event) => {
        const next = events.next.get(event);
        // What was sent before the first subscription was confirmed may still have its place after that.
        if (next === NONE || events.sent.get(next) > first || isHere(next)) return;
        if (recording.isNotFor(next, chain.client)) return;
        const found = hole(chain, next);
        if (found !== undefined) broken(chain, next, found);
      });
      const begin = firstOf(all.length, (at) => events.sent.get(all.get(at)) > first);
      for (let at = begin; at < all.length; at++) {
        const event = all.get(at);
        if (events.sent.get(event) > last) return;
        if (recording.isNotFor(event, chain.client)) continue;
        if (time(events.since(event)) === Number.POSITIVE_INFINITY) continue;
        const found = isHere(event) ? lateness(chain, event) : lack(chain, event);
        if (isHere(event) || found?.rule === 'arrives') report.checked();
        if (found !== undefined) broken(chain, event, found);
      }
    },
  };
};
