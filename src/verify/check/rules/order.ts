import type { LineOf } from '../../history/line.ts';
import type { Deliveries } from '../deliveries.ts';
import type { Chain, Item, View } from '../model.ts';
import type { Recording } from '../recording.ts';
import type { Rule } from '../rule.ts';
import type { Findings } from '../verdict.ts';

/** The events of a witness that are named. */
const NAMED_MAX = 10;

/** The neighbours of one circle that are kept, to find two that clients received the other way round. */
const PAIRS_MAX = 1000;

/** Events that cannot be put in an order. */
interface Circle {
  readonly chain: Chain;
  readonly items: Set<Item>;
  readonly pairs: Map<string, Chain>;
  text?: string;
}

/** Everybody receives the events of a channel in one order. */
export class Order implements Rule {
  readonly ops = ['event'] as const;
  private readonly recording: Recording;
  private readonly findings: Findings;
  /** The first delivery of an event to a client with a list of members: who was on it. */
  private readonly lists = new Map<
    Item,
    { readonly fingerprint: number; readonly client: number }
  >();
  /** Subscriptions whose list was another one at their last event. */
  private readonly differing = new Map<View, { readonly item: Item; readonly other: number }>();

  private readonly deliveries: Deliveries;

  constructor(recording: Recording, findings: Findings, deliveries: Deliveries) {
    this.recording = recording;
    this.findings = findings;
    this.deliveries = deliveries;
  }

  /**
   * Compares who was there when an event came. A list that differs at one event and not at the next has changed on the other
   * side of the event. One that goes on to differ is wrong, which is for other rules to say.
   */
  see(line: LineOf<'event'>): void {
    const view = this.recording.viewOf(line);
    if (view?.members === undefined || view.received < view.missed || view.channel.replays) return;
    const item = this.recording.itemOf(line.e, line.ch);
    if (item === undefined) return;
    const { fingerprint } = view.members;
    const { id: client } = view.connection.client;
    const first = this.lists.get(item);
    if (first === undefined) {
      this.lists.set(item, { fingerprint, client });
      this.differing.delete(view);
      return;
    }
    const before = this.differing.get(view);
    if (first.fingerprint !== fingerprint) {
      if (before === undefined) this.differing.set(view, { item, other: first.client });
      return;
    }
    this.differing.delete(view);
    if (before === undefined) return;
    this.findings.broken({
      rule: 'order',
      channel: line.ch,
      client,
      events: [before.item.sending.name],
      t: line.t,
      text: `clients ${client} and ${before.other} had different members in ${line.ch} when they received event ${before.item.sending.name}, and the same ones at event ${line.e}`,
    });
  }

  end(): void {
    const { items } = this.recording;
    for (const chain of this.recording.chains) this.findings.checked('order', chain.items.length);
    const { graph, owners } = this.deliveries.order;
    const circles = graph.circles();
    const found = new Map<number, Circle>();
    for (const [edge, chain] of owners.entries()) {
      const [from, to] = graph.at(edge);
      const number = circles[from] ?? 0;
      const [a, b] = [items[from], items[to]];
      if (number === 0 || number !== circles[to] || a === undefined || b === undefined) continue;
      const circle: Circle = found.get(number) ?? { chain, items: new Set(), pairs: new Map() };
      found.set(number, circle);
      if (circle.items.size < NAMED_MAX) circle.items.add(a).add(b);
      const reverse = circle.pairs.get(`${to} ${from}`);
      if (circle.pairs.size < PAIRS_MAX) circle.pairs.set(`${from} ${to}`, chain);
      if (reverse === undefined || circle.text !== undefined) continue;
      circle.text = `client ${reverse.client.id} received event ${b.sending.name} before ${a.sending.name} in ${chain.channel.name}, and client ${chain.client.id} the other way round`;
    }
    for (const circle of found.values()) this.report(circle);
  }

  private report({ chain, items, text }: Circle): void {
    const events = Array.from(items, ({ sending }) => sending.name);
    const t = Math.min(...Array.from(items, ({ seenAt }) => seenAt));
    this.findings.broken({
      rule: 'order',
      channel: chain.channel.name,
      client: chain.client.id,
      events,
      t,
      text:
        text ??
        `no order of the events ${events.join(', ')} in ${chain.channel.name} is that of all clients`,
    });
  }
}
