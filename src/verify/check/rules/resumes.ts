import type { Item, View } from '../model.ts';
import { type Evidence, type Rule, seconds } from '../rule.ts';

/** The ids by which clients resume are right. Whether they then have everything is checked with what `arrives`. */
export function resumes({ recording, findings }: Evidence): Rule {
  /** The number of the last event of a subscription that has an id. */
  const numbers = new Map<View, number>();
  const ids = new Map<string, Item>();
  const report = ({ sending, channel }: Item, t: number, text: string) => {
    findings.broken('resumes', { channel: channel.name, events: [sending.name], t, text });
  };
  /** Compares an id with those that the event has elsewhere, and with those of other events. */
  const compare = (item: Item, id: string, t: number) => {
    const { sending, channel } = item;
    const event = `event ${sending.name} in ${channel.name}`;
    if (item.id === undefined) {
      const key = `${channel.name}\n${id}`;
      const other = ids.get(key) ?? item;
      ids.set(key, item);
      if (other !== item) report(item, t, `${event} has the id ${id} of ${other.sending.name}`);
    } else if (item.id !== id) {
      report(item, t, `${event} has two ids: ${item.id}, and ${id} at ${seconds(t)}`);
    }
  };
  return {
    see: {
      subscribed(line) {
        const after = recording.viewOf(line)?.after ?? '';
        if (line.resume !== undefined && after !== '') findings.checked('resumes');
      },
      answer({ e, ids: given = {}, t }) {
        for (const [channel, id] of Object.entries(given)) {
          const item = recording.itemOf(e, channel);
          if (item !== undefined) compare(item, id, t);
        }
      },
      event(line) {
        const { id, t, c, ch } = line;
        const { view, item } = recording.deliveryOf(line);
        if (id === undefined || item === undefined) return;
        compare(item, id, t);
        const number = numberOf(id);
        if (view === undefined || Number.isNaN(number)) return;
        const before = numbers.get(view) ?? -1;
        numbers.set(view, number);
        if (number > before || recording.faults.any(['redis-lost'], view.confirmedAt, t)) return;
        const text = `client ${c} received the id ${id} in ${ch} at ${seconds(t)}, after the number ${before}: numbers must grow`;
        report(item, t, text);
      },
    },
  };
}

function numberOf(id: string): number {
  return /^\d+-/.test(id) ? Number.parseInt(id, 10) : Number.NaN;
}
