import { type Chain, existsSince, type Item, isNotFor, type View } from '../model.ts';
import type { Recording } from '../recording.ts';
import { type Rule, seconds } from '../rule.ts';
import type { Findings } from '../verdict.ts';

/**
 * What exists reaches everybody who was subscribed when it was sent. What a client that resumes lacks after a cut is broken
 * as `resumes`, everything else as `arrives`.
 */
export class Arrives implements Rule {
  readonly ops = [] as const;
  private readonly recording: Recording;
  private readonly findings: Findings;

  constructor(recording: Recording, findings: Findings) {
    this.recording = recording;
    this.findings = findings;
  }

  see(): void {
    // Everything is looked at in the end.
  }

  end(): void {
    this.recording.clearMarks();
    for (const chain of this.recording.chains) this.checkChain(chain);
  }

  private checkChain(chain: Chain): void {
    // The marks tell which events the client has.
    const received = [...this.recording.distinct(chain)];
    const { items } = chain.channel;
    const first = chain.views[0]?.confirmedLine ?? Number.POSITIVE_INFINITY;
    const last = chain.views.at(-1)?.endedLine ?? 0;
    for (const [{ next }] of received) {
      // What was sent before the first subscription was confirmed may still have its place after that.
      if (next === undefined || next.sending.sentLine > first) continue;
      if (next.chain !== chain.index && !isNotFor(next, chain.client)) this.checkHole(chain, next);
    }
    for (let at = firstAfter(items, first); at < items.length; at++) {
      const item = items[at];
      if (item === undefined || item.sending.sentLine > last) return;
      if (isNotFor(item, chain.client)) continue;
      if (existsSince(item).line === Number.POSITIVE_INFINITY) continue;
      if (item.chain === chain.index) this.checkTime(chain, item);
      else this.checkMissing(chain, item);
    }
  }

  /** Checks an event that follows one that the client has, and that it lacks: whether it also has the next one. */
  private checkHole(chain: Chain, item: Item): void {
    const { next, sending } = item;
    const view = chain.views.find((one) => next !== undefined && has(one, next));
    if (view === undefined || next === undefined) return;
    const isFirst = view.from === next.at;
    if (isFirst && sending.sender !== undefined) return;
    const isMissed = next.at - view.from < view.missed;
    this.report(chain, item, {
      rule: isMissed ? 'resumes' : 'arrives',
      t: chain.times[next.at] ?? 0,
      what: `never, but the next one, ${next.sending.name}`,
    });
  }

  /** Checks that an event came in time. */
  private checkTime(chain: Chain, item: Item): void {
    this.findings.checked('arrives');
    const { T } = this.recording.header;
    const came = chain.times[item.at] ?? 0;
    const { at } = existsSince(item);
    if (came <= at + T) return;
    const view = chain.views.findLast(({ from }) => from <= item.at);
    const possible = Math.max(at, view?.confirmedAt ?? 0);
    if (came <= this.recording.faults.dueAfter(possible, possible + T)) return;
    this.report(chain, item, {
      rule: possible > at ? 'resumes' : 'arrives',
      t: came,
      what: `only at ${seconds(came)}`,
    });
  }

  /** Finds out whether an event that never came had to come. */
  private checkMissing(chain: Chain, item: Item): void {
    const { sentLine, sender } = item.sending;
    const live = chain.views.find(
      ({ confirmedLine, endedLine }) => confirmedLine < sentLine && sentLine < endedLine,
    );
    if (live !== undefined && this.isMissing(live, item)) {
      this.findings.checked('arrives');
      return this.report(chain, item, { rule: 'arrives', t: live.endedAt, what: 'never' });
    }
    // Client events are not kept.
    if (sender !== undefined) return;
    const later = chain.views.find(
      (view) => view.confirmedLine > sentLine && this.isMissing(view, item),
    );
    if (later === undefined) return;
    this.report(chain, item, {
      rule: 'resumes',
      t: later.confirmedAt,
      what: `not even after the server said at ${seconds(later.confirmedAt)} that nothing is lost`,
    });
  }

  /** Whether a subscription that lacks an event lasted until it was due, or has events that come after it. */
  private isMissing(view: View, item: Item): boolean {
    const { at, line } = existsSince(item);
    if (item.next !== undefined && has(view, item.next)) return true;
    if (line > view.endedLine) return false;
    if (view.latestSent > line) return true;
    const from = Math.max(at, view.confirmedAt);
    const due = this.recording.faults.dueAfter(from, from + this.recording.header.T);
    return due < Math.min(view.endedAt, this.recording.t);
  }

  private report(
    { client, channel }: Chain,
    item: Item,
    {
      rule,
      t,
      what,
    }: { readonly rule: 'arrives' | 'resumes'; readonly t: number; readonly what: string },
  ): void {
    const { name, sentAt, acceptedAt } = item.sending;
    const since = existsSince(item).at;
    const answered =
      acceptedAt === Number.POSITIVE_INFINITY
        ? `received by others from ${seconds(since)} on`
        : `answered with 200 at ${seconds(acceptedAt)}`;
    this.findings.broken(
      {
        rule,
        channel: channel.name,
        client: client.id,
        events: [name],
        t: Math.min(t, this.recording.t),
        text: `client ${client.id} received event ${name} in ${channel.name} ${what}: it was sent at ${seconds(sentAt)}, and ${answered}`,
      },
      this.recording.faults.excuse(rule, sentAt, since),
    );
  }
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
