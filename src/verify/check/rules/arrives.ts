import { type Chain, existsSince, type Item, isNotFor, type View } from '../model.ts';
import { type Evidence, type Rule, seconds } from '../rule.ts';

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
export function arrives({ recording, findings }: Evidence): Rule {
  const { header, faults } = recording;
  /** Whether a subscription that lacks an event lasted until it was due, or has events that come after it. */
  const isMissing = (view: View, item: Item): boolean => {
    const { at, line } = existsSince(item);
    if (item.next !== undefined && has(view, item.next)) return true;
    if (line > view.endedLine) return false;
    if (view.latestSent > line) return true;
    const from = Math.max(at, view.confirmedAt);
    return faults.dueAfter(from, from + header.T) < Math.min(view.endedAt, recording.t);
  };

  const isLate = (chain: Chain, item: Item): Lack | undefined => {
    const came = chain.times[item.at] ?? 0;
    const { at } = existsSince(item);
    if (came <= at + header.T) return undefined;
    const view = chain.views.findLast(({ from }) => from <= item.at);
    const possible = Math.max(at, view?.confirmedAt ?? 0);
    if (came <= faults.dueAfter(possible, possible + header.T)) return undefined;
    const rule = possible > at ? 'resumes' : 'arrives';
    return { rule, t: came, what: `only at ${seconds(came)}` };
  };

  const isLacking = ({ views }: Chain, item: Item): Lack | undefined => {
    const { sentLine, sender } = item.sending;
    const live = views.find(
      ({ confirmedLine, endedLine }) => confirmedLine < sentLine && sentLine < endedLine,
    );
    if (live !== undefined && isMissing(live, item)) {
      return { rule: 'arrives', t: Math.min(live.endedAt, recording.t), what: 'never' };
    }
    // Client events are not kept.
    if (sender !== undefined) return undefined;
    const later = views.find((view) => view.confirmedLine > sentLine && isMissing(view, item));
    if (later === undefined) return undefined;
    const { confirmedAt: t } = later;
    const what = `not even after the server said at ${seconds(t)} that nothing is lost`;
    return { rule: 'resumes', t, what };
  };

  /** Looks at an event that follows one that the client has, and that it lacks itself: whether it also has the next one. */
  const isHole = ({ views, times }: Chain, { next, sending }: Item): Lack | undefined => {
    const view = next === undefined ? undefined : views.find((one) => has(one, next));
    if (view === undefined || next === undefined) return undefined;
    // Client events are not kept.
    if (view.from === next.at && sending.sender !== undefined) return undefined;
    const rule = next.at - view.from < view.missed ? 'resumes' : 'arrives';
    const what = `never, but the next one, ${next.sending.name}`;
    return { rule, t: times[next.at] ?? 0, what };
  };

  const report = ({ client, channel }: Chain, item: Item, { rule, t, what }: Lack) => {
    const { name, sentAt, acceptedAt } = item.sending;
    const since = existsSince(item).at;
    const answered =
      acceptedAt === Number.POSITIVE_INFINITY
        ? `received by others from ${seconds(since)} on`
        : `answered with 200 at ${seconds(acceptedAt)}`;
    const text = `client ${client.id} received event ${name} in ${channel.name} ${what}: it was sent at ${seconds(sentAt)}, and ${answered}`;
    findings.broken(
      rule,
      { channel: channel.name, client: client.id, events: [name], t, text },
      faults.excuse(rule, sentAt, since),
    );
  };

  const checkChain = (chain: Chain) => {
    // The marks tell which events the client has.
    const received = [...recording.distinct(chain)];
    const { items } = chain.channel;
    const first = chain.views[0]?.confirmedLine ?? Number.POSITIVE_INFINITY;
    const last = chain.views.at(-1)?.endedLine ?? 0;
    for (const [{ next }] of received) {
      // What was sent before the first subscription was confirmed may still have its place after that.
      if (next === undefined || next.sending.sentLine > first) continue;
      if (next.chain === chain.index || isNotFor(next, chain.client)) continue;
      const lack = isHole(chain, next);
      if (lack !== undefined) report(chain, next, lack);
    }
    for (let at = firstAfter(items, first); at < items.length; at++) {
      const item = items[at];
      if (item === undefined || item.sending.sentLine > last) return;
      if (isNotFor(item, chain.client)) continue;
      if (existsSince(item).line === Number.POSITIVE_INFINITY) continue;
      const isThere = item.chain === chain.index;
      const lack = isThere ? isLate(chain, item) : isLacking(chain, item);
      if (isThere || lack?.rule === 'arrives') findings.checked('arrives');
      if (lack !== undefined) report(chain, item, lack);
    }
  };

  return {
    end() {
      recording.clearMarks();
      for (const chain of recording.chains) checkChain(chain);
    },
  };
}

/** Whether a subscription has an event. The chain that it belongs to is the one that was marked last. */
function has({ chain, from, received }: View, item: Item): boolean {
  return item.chain === chain?.index && item.at >= from && item.at < from + received;
}

/** The index of the first event that was sent after a line. */
function firstAfter(items: readonly Item[], line: number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle]?.sending.sentLine ?? 0) > line) high = middle;
    else low = middle + 1;
  }
  return low;
}
