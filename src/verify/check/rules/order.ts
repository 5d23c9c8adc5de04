import type { Chain, Item, View } from '../model.ts';
import type { Evidence, Rule } from '../rule.ts';

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

/** Who was on the list of members of the client that was the first to have an event. */
interface FirstList {
  readonly fingerprint: number;
  readonly client: number;
}

/** Everybody receives the events of a channel in one order. */
export function order({ recording, findings, deliveries }: Evidence): Rule {
  const lists = new Map<Item, FirstList>();
  /** Subscriptions whose list was another one than that of `other` at their last event. */
  const differing = new Map<View, { readonly item: Item; readonly other: number }>();
  return {
    see: {
      /**
       * Compares who was there when an event came. A list that differs at one event and not at the next has changed on the
       * other side of the event. One that goes on to differ is wrong, which is for other rules to say.
       */
      event(line) {
        const { view, item } = recording.deliveryOf(line);
        if (view?.members === undefined || item === undefined) return;
        if (view.received < view.missed || view.channel.replays) return;
        const { fingerprint } = view.members;
        const { id: client } = view.connection.client;
        const first = lists.get(item);
        const before = differing.get(view);
        if (first === undefined) lists.set(item, { fingerprint, client });
        else if (first.fingerprint !== fingerprint) {
          if (before === undefined) differing.set(view, { item, other: first.client });
          return;
        }
        if (before === undefined || (first !== undefined && first.client !== before.other)) return;
        differing.delete(view);
        if (first === undefined) return;
        const { name } = before.item.sending;
        const text = `clients ${client} and ${before.other} had different members in ${line.ch} when they received event ${name}, and the same ones at event ${line.e}`;
        findings.broken('order', { channel: line.ch, client, events: [name], t: line.t, text });
      },
    },
    end() {
      const { items, chains } = recording;
      for (const chain of chains) findings.checked('order', chain.items.length);
      const { graph, owners } = deliveries.order;
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
      for (const { chain, items: wrong, text } of found.values()) {
        const events = Array.from(wrong, ({ sending }) => sending.name);
        const { name } = chain.channel;
        findings.broken('order', {
          channel: name,
          client: chain.client.id,
          events,
          t: Math.min(...Array.from(wrong, ({ seenAt }) => seenAt)),
          text:
            text ?? `no order of the events ${events.join(', ')} in ${name} is that of all clients`,
        });
      }
    },
  };
}
