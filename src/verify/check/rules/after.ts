import type { Deliveries } from '../deliveries.ts';
import type { Graph } from '../graph.ts';
import type { Chain, Channel, Item } from '../model.ts';
import type { Recording } from '../recording.ts';
import { type Rule, seconds } from '../rule.ts';
import type { Findings } from '../verdict.ts';

/** An event comes after those that were answered before it was triggered, and the events of a batch in their order. */
export class After implements Rule {
  readonly ops = [] as const;
  private readonly recording: Recording;
  private readonly findings: Findings;
  private readonly told = new Set<Channel>();

  private readonly deliveries: Deliveries;

  constructor(recording: Recording, findings: Findings, deliveries: Deliveries) {
    this.recording = recording;
    this.findings = findings;
    this.deliveries = deliveries;
  }

  see(): void {
    // Everything is looked at in the end.
  }

  end(): void {
    this.recording.clearMarks();
    for (const chain of this.recording.chains) this.checkChain(chain);
    const { graph } = this.deliveries.order;
    const before = graph.circles();
    const channels = [...this.recording.channels.values()];
    for (const { items } of channels) addRequests(graph, items);
    const circles = graph.circles();
    for (const channel of channels) {
      // Where the deliveries alone have no order, or a client shows what is wrong, nothing more can be said.
      if (this.told.has(channel)) continue;
      if (channel.items.some(({ index }) => before[index] !== 0)) continue;
      const item = channel.items.find(({ index }) => circles[index] !== 0);
      if (item === undefined) continue;
      this.findings.broken({
        rule: 'after',
        channel: channel.name,
        client: null,
        events: [item.sending.name],
        t: item.sending.sentAt,
        text: `no order of the events of ${channel.name} fits both what clients received and when events were answered; event ${item.sending.name} is one that does not fit`,
      });
    }
  }

  /** Finds events that one client has received before others that were answered before. */
  private checkChain(chain: Chain): void {
    let latest: Item | undefined;
    const batches = new Map<number, Item>();
    for (const [item, at] of this.recording.distinct(chain)) {
      const { sending } = item;
      if (sending.sender !== undefined) continue;
      this.findings.checked('after');
      if (latest !== undefined && sending.acceptedLine < latest.sending.sentLine) {
        this.report(chain, item, latest, at);
      }
      if (sending.batch !== undefined) {
        const before = batches.get(sending.batch);
        if (before !== undefined && before.sending.sentLine > sending.sentLine) {
          this.report(chain, item, before, at);
        }
        batches.set(sending.batch, item);
      }
      if (latest === undefined || sending.sentLine > latest.sending.sentLine) latest = item;
    }
  }

  private report(chain: Chain, late: Item, early: Item, at: number): void {
    this.told.add(chain.channel);
    const [a, b] = [late.sending, early.sending];
    const why =
      a.batch !== undefined && a.batch === b.batch
        ? 'it comes before it in their batch'
        : `it was answered at ${seconds(a.acceptedAt)}, and ${b.name} sent at ${seconds(b.sentAt)}`;
    this.findings.broken({
      rule: 'after',
      channel: chain.channel.name,
      client: chain.client.id,
      events: [a.name, b.name],
      t: chain.times[at] ?? 0,
      text: `client ${chain.client.id} received event ${a.name} after ${b.name} in ${chain.channel.name}, but ${why}`,
    });
  }
}

/**
 * Adds what the requests of a channel say about the order of its events. A moment between an answer and a later request is
 * a node, and so are the moments one after the other, so that there are no more edges than events.
 */
function addRequests(graph: Graph, items: readonly Item[]): void {
  const triggered = items.filter(({ sending }) => sending.sender === undefined);
  const answered = triggered
    .filter(({ sending }) => sending.acceptedLine < Number.POSITIVE_INFINITY)
    .toSorted((a, b) => a.sending.acceptedLine - b.sending.acceptedLine);
  const batches = new Map<number, Item>();
  let next = 0;
  let moment: number | undefined;
  for (const item of triggered) {
    const { sentLine, batch } = item.sending;
    for (
      let early = answered[next];
      early !== undefined && early.sending.acceptedLine < sentLine;
      early = answered[++next]
    ) {
      const later = graph.add();
      if (moment !== undefined) graph.edge(moment, later);
      graph.edge(early.index, later);
      moment = later;
    }
    if (moment !== undefined) graph.edge(moment, item.index);
    if (batch === undefined) continue;
    const before = batches.get(batch);
    if (before !== undefined) graph.edge(before.index, item.index);
    batches.set(batch, item);
  }
}
