import { Ints, NONE } from '../lists.ts';
import { type MakeRule, seconds } from '../rule.ts';
import { HashTable, hashOf } from '../texts.ts';

/** The number at the begin of an id. */
const NUMBER = /^(\d{1,15})-/;

/** The ids by which clients resume are right. Whether they then have everything is checked with what `arrives`. */
export const resumes: MakeRule = (recording, report) => {
  const { events } = recording;
  // By event: the number of its id, as far as 31 bits go, and a hash of the rest. A text for each would take the memory three times.
  const numbers = new Ints();
  const hashes = new Ints();
  const table = new HashTable((event) => hashes.get(event));
  const broken = (event: number, t: number, text: string) => {
    const channel = recording.channelOf(event).name;
    report.broken({ channel, events: [events.nameOf(event)], t, text });
  };
  /** Compares an id with those that the event has elsewhere, and with those of other events. */
  const compare = (event: number, id: string, t: number) => {
    const { name, index } = recording.channelOf(event);
    const number = Number(NUMBER.exec(id)?.[1] ?? 0) & 0x7fffffff;
    const hash = hashOf(id) ^ index;
    const before = numbers.get(event);
    const said = () => `event ${events.nameOf(event)} in ${name}`;
    if (before === NONE) {
      const other = table.find(
        hash,
        (one) =>
          hashes.get(one) === hash &&
          numbers.get(one) === number &&
          events.channel.get(one) === index,
      );
      numbers.set(event, number);
      hashes.set(event, hash);
      table.add(event);
      if (other === NONE) return;
      broken(event, t, `${said()} has the id ${id} of ${events.nameOf(other)}`);
    } else if (before !== number || hashes.get(event) !== hash) {
      // With Redis' data its idempotency keys are lost: a trigger that was repeated since then is another event.
      if (recording.faults.any(['redis-lost'], recording.at(events.sent.get(event)), t)) return;
      broken(event, t, `${said()} has two ids: ${before}-…, and ${id} at ${seconds(t)}`);
    }
  };
  return {
    see: {
      subscribed({ resume }, view) {
        if (resume !== undefined && view !== undefined && view.after !== '') report.checked();
      },
      answer({ e, ids: given = {}, t }) {
        for (const [channel, id] of Object.entries(given)) {
          const event = recording.eventOf(e, channel);
          if (event !== NONE) compare(event, id, t);
        }
      },
      event({ id, t, c, ch }, view, event) {
        if (id === undefined || event === NONE) return;
        compare(event, id, t);
        const [, number] = NUMBER.exec(id) ?? [];
        if (view === undefined || number === undefined) return;
        const before = view.number;
        view.number = Number(number);
        if (view.number > before) return;
        if (recording.faults.any(['redis-lost'], recording.at(view.confirmed), t)) return;
        const text = `client ${c} received the id ${id} in ${ch} at ${seconds(t)}, after the number ${before}: numbers must grow`;
        broken(event, t, text);
      },
    },
  };
};
