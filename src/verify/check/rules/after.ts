import { NONE } from '../lists.ts';
import type { Channel } from '../model.ts';
import { type MakeRule, seconds } from '../rule.ts';

/** An event comes after those that were answered before it was triggered, and the events of a batch in their order. */
export const after: MakeRule = (recording, report) => {
  const { events, batched } = recording;
  const { sent, accepted, sender } = events;
  /** Channels about which nothing more can be said. */
  const told = new Set<Channel>();
  const name = (event: number) => events.nameOf(event);
  const whyNot = (early: number, late: number) =>
    `${name(early)} was answered at ${seconds(recording.at(accepted.get(early)))}, and ${name(late)} sent at ${seconds(recording.at(sent.get(late)))}`;
  return {
    chain({ client: { id: client }, channel, events: list, lines }) {
      const broken = (early: number, late: number, why: string) => {
        told.add(channel);
        const t = recording.at(lines.get(events.at.get(early)));
        const text = `client ${client} received event ${name(early)} after ${name(late)} in ${channel.name}, but ${why}`;
        const names = [name(early), name(late)];
        report.broken({ channel: channel.name, client, events: names, t, text });
      };
      let latest = NONE;
      list.each((event, at) => {
        if (sender.get(event) !== NONE) return;
        report.checked();
        if (recording.mayBeAnother(event, recording.at(lines.get(at)))) return;
        if (latest !== NONE && accepted.get(event) < sent.get(latest)) {
          broken(event, latest, whyNot(event, latest));
        }
        const before = batched.get(event);
        const isHere = before !== NONE && events.chain.get(before) === events.chain.get(event);
        if (isHere && events.at.get(before) > events.at.get(event)) {
          broken(before, event, 'it comes before it in their batch');
        }
        if (latest === NONE || sent.get(event) > sent.get(latest)) latest = event;
      });
    },
    /** Looks at what clients show together, none of whom has both events. */
    end() {
      const { circle, order, starts, followed } = recording.sorted;
      // Where the deliveries alone have no order, only what one client shows is sure.
      recording.circles.forEach((number, event) => {
        if (number !== 0) told.add(recording.channelOf(event));
      });
      const broken = (channel: Channel, names: readonly string[], t: number, why: string) => {
        if (told.has(channel)) return;
        told.add(channel);
        const text = `no order of the events of ${channel.name} fits both what clients received and ${why}`;
        report.broken({ channel: channel.name, events: names, t, text });
      };
      /** By event, among itself and those that come later the one that was answered first. */
      const firsts = new Int32Array(events.size);
      for (const event of order) {
        let first = event;
        for (let at = starts[event] ?? 0; at < (starts[event + 1] ?? 0); at++) {
          const next = firsts[followed[at] ?? 0] ?? 0;
          if (accepted.get(next) < accepted.get(first)) first = next;
        }
        firsts[event] = first;
        const channel = recording.channelOf(event);
        const t = recording.at(sent.get(event));
        if (circle[event] !== 0) {
          broken(channel, [name(event)], t, `the order of a batch with event ${name(event)}`);
        } else if (sender.get(event) === NONE && accepted.get(first) < sent.get(event)) {
          broken(channel, [name(first), name(event)], t, `that ${whyNot(first, event)}`);
        }
      }
    },
  };
};
