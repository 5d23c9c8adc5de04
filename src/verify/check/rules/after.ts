import type { Graph } from '../graph.ts';
import type { Chain, Channel, Item } from '../model.ts';
import { type Evidence, type Rule, seconds } from '../rule.ts';

/** An event comes after those that were answered before it was triggered, and the events of a batch in their order. */
export function after({ recording, findings, deliveries }: Evidence): Rule {
  /** Channels in which one client shows what is wrong. */
  const told = new Set<Channel>();
  const report = (
    { channel, client, times }: Chain,
    [late, early]: readonly [Item, Item],
    at: number,
  ) => {
    told.add(channel);
    const [a, b] = [late.sending, early.sending];
    const why =
      a.batch !== undefined && a.batch === b.batch
        ? 'it comes before it in their batch'
        : `it was answered at ${seconds(a.acceptedAt)}, and ${b.name} sent at ${seconds(b.sentAt)}`;
    findings.broken('after', {
      channel: channel.name,
      client: client.id,
      events: [a.name, b.name],
      t: times[at] ?? 0,
      text: `client ${client.id} received event ${a.name} after ${b.name} in ${channel.name}, but ${why}`,
    });
  };
  /** Finds events that one client has received before others that were answered before. */
  const checkChain = (chain: Chain) => {
    let latest: Item | undefined;
    const batches = new Map<number, Item>();
    for (const [item, at] of recording.distinct(chain)) {
      const { sentLine, acceptedLine, batch, sender } = item.sending;
      if (sender !== undefined) continue;
      findings.checked('after');
      if (latest !== undefined && acceptedLine < latest.sending.sentLine) {
        report(chain, [item, latest], at);
      }
      const before = batch === undefined ? undefined : batches.get(batch);
      if (before !== undefined && before.sending.sentLine > sentLine) {
        report(chain, [item, before], at);
      }
      if (batch !== undefined) batches.set(batch, item);
      if (latest === undefined || sentLine > latest.sending.sentLine) latest = item;
    }
  };
  return {
    end() {
      recording.clearMarks();
      for (const chain of recording.chains) checkChain(chain);
      const { graph } = deliveries.order;
      const before = graph.circles();
      const channels = [...recording.channels.values()];
      for (const { items } of channels) addRequests(graph, items);
      const circles = graph.circles();
      for (const channel of channels) {
        // Where the deliveries alone have no order, nothing more can be said.
        if (told.has(channel) || channel.items.some(({ index }) => before[index] !== 0)) continue;
        const item = channel.items.find(({ index }) => circles[index] !== 0);
        if (item === undefined) continue;
        const { name, sentAt: t } = item.sending;
        const text = `no order of the events of ${channel.name} fits both what clients received and when events were answered; event ${name} is one that does not fit`;
        findings.broken('after', { channel: channel.name, events: [name], t, text });
      }
    },
  };
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
