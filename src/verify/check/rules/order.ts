import { Ints, NONE } from '../lists.ts';
import type { Chain, View } from '../model.ts';
import type { MakeRule } from '../rule.ts';

/** The events of a witness that are named. */
const NAMED_MAX = 10;

/** The neighbours of one circle that are kept, to find two that clients received the other way round. */
const PAIRS_MAX = 1000;

/** Events that cannot be put in an order. */
interface Circle {
  readonly chain: Chain;
  readonly events: Set<number>;
  readonly pairs: Map<string, Chain>;
  text?: string;
}

/** Everybody receives the events of a channel in one order. */
export const order: MakeRule = (recording, report) => {
  const { events, received } = recording;
  /** By event: the members whom the client saw that was the first to have it, and this client. */
  const lists = new Ints();
  const firsts = new Ints();
  /** Subscriptions whose list was another one than that of `other` at their last event. */
  const differing = new Map<View, { readonly event: number; readonly other: number }>();
  return {
    see: {
      /**
       * Compares who was there when an event came. A list that differs at one event and not at the next has changed on the
       * other side of the event. One that goes on to differ is wrong, which is for other rules to say.
       */
      event({ c, ch, e, t }, view, event) {
        if (view?.members === undefined || event === NONE) return;
        if (view.received < view.missed || view.channel.replays) return;
        // The lower half of the fingerprint is enough.
        const fingerprint = view.members.fingerprint | 0;
        const other = firsts.get(event);
        if (other === NONE) {
          lists.set(event, fingerprint);
          firsts.set(event, c);
        }
        const before = differing.get(view);
        const differs = other !== NONE && lists.get(event) !== fingerprint;
        if (differs && before === undefined) differing.set(view, { event, other });
        if (differs || before === undefined || (other !== NONE && other !== before.other)) return;
        differing.delete(view);
        if (other === NONE) return;
        const name = events.nameOf(before.event);
        const text = `clients ${c} and ${other} had different members in ${ch} when they received event ${name}, and the same ones at event ${e}`;
        report.broken({ channel: ch, client: c, events: [name], t, text });
      },
    },
    chain(chain) {
      report.checked(chain.lines.length);
      chain.events.each((event, at) => {
        if (!recording.mayBeAnother(event, recording.at(chain.lines.get(at)))) received.add(event);
      });
      received.end();
    },
    end() {
      const circle = recording.circles;
      const found = new Map<number, Circle>();
      for (const chain of recording.chains) {
        let before = NONE;
        chain.events.each((to) => {
          const from = before;
          before = to;
          const number = circle[to] ?? 0;
          if (number === 0 || circle[from] !== number) return;
          const one: Circle = found.get(number) ?? { chain, events: new Set(), pairs: new Map() };
          found.set(number, one);
          if (one.events.size < NAMED_MAX) one.events.add(from).add(to);
          if (one.pairs.size < PAIRS_MAX) one.pairs.set(`${from} ${to}`, chain);
          const reverse = one.pairs.get(`${to} ${from}`);
          if (reverse === undefined) return;
          one.text ??= `client ${reverse.client.id} received event ${events.nameOf(to)} before ${events.nameOf(from)} in ${chain.channel.name}, and client ${chain.client.id} the other way round`;
        });
      }
      for (const { chain, events: wrong, text: known } of found.values()) {
        const { client, channel } = chain;
        const names = Array.from(wrong, (event) => events.nameOf(event));
        const none = `no order of the events ${names.join(', ')} in ${channel.name} is that of all clients`;
        const t = Math.min(...Array.from(wrong, (event) => recording.at(events.seen.get(event))));
        const seen = { channel: channel.name, client: client.id, events: names, t };
        report.broken({ ...seen, text: known ?? none });
      }
    },
  };
};
