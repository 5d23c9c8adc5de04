import { Ints, NONE } from '../lists.ts';
import { type MakeRule, seconds } from '../rule.ts';
import { Texts } from '../texts.ts';

/** The ids by which clients resume are right. Whether they then have everything is checked with what `arrives`. */
export const resumes: MakeRule = (recording, report) => {
  const { events } = recording;
  const ids = new Texts();
  /** By event its id, and by id the event that has it. */
  const idOf = new Ints();
  const eventOf = new Ints();
  const broken = (event: number, t: number, text: string) => {
    const channel = recording.channelOf(event).name;
    report.broken({ channel, events: [events.nameOf(event)], t, text });
  };
  /** Compares an id with those that the event has elsewhere, and with those of other events. */
  const compare = (event: number, given: string, t: number) => {
    const { name, index } = recording.channelOf(event);
    const prefix = `${index} `;
    const id = ids.add(prefix + given);
    const before = idOf.get(event);
    const said = () => `event ${events.nameOf(event)} in ${name}`;
    if (before === NONE) {
      idOf.set(event, id);
      const other = eventOf.get(id);
      eventOf.set(id, event);
      if (other === NONE || other === event) return;
      broken(event, t, `${said()} has the id ${given} of ${events.nameOf(other)}`);
    } else if (before !== id) {
      const first = ids.text(before).slice(prefix.length);
      broken(event, t, `${said()} has two ids: ${first}, and ${given} at ${seconds(t)}`);
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
        const number = /^\d+-/.test(id) ? Number.parseInt(id, 10) : Number.NaN;
        if (view === undefined || Number.isNaN(number)) return;
        const before = view.number;
        view.number = number;
        if (number > before) return;
        if (recording.faults.any(['redis-lost'], recording.at(view.confirmed), t)) return;
        const text = `client ${c} received the id ${id} in ${ch} at ${seconds(t)}, after the number ${before}: numbers must grow`;
        broken(event, t, text);
      },
    },
  };
};
