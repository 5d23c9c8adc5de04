import type { LineOf } from '../../history/line.ts';
import type { Item, View } from '../model.ts';
import type { Recording } from '../recording.ts';
import { type Rule, seconds } from '../rule.ts';
import type { Findings } from '../verdict.ts';

/** The ids by which clients resume. Whether they then have everything is checked with what `arrives`. */
export class Resumes implements Rule {
  readonly ops = ['event', 'answer', 'subscribed'] as const;
  private readonly recording: Recording;
  private readonly findings: Findings;
  /** The number of the last event of a subscription that has an id. */
  private readonly numbers = new Map<View, number>();
  private readonly ids = new Map<string, Item>();

  constructor(recording: Recording, findings: Findings) {
    this.recording = recording;
    this.findings = findings;
  }

  see(line: LineOf<'event'> | LineOf<'answer'> | LineOf<'subscribed'>): void {
    switch (line.op) {
      case 'event':
        if (line.id !== undefined) this.seeEvent(line, line.id);
        return;
      case 'answer':
        for (const [channel, id] of Object.entries(line.ids ?? {})) {
          const item = this.recording.itemOf(line.e, channel);
          if (item !== undefined) this.compare(item, id, line.t);
        }
        return;
      case 'subscribed': {
        const after = this.recording.viewOf(line)?.after;
        if (line.resume !== undefined && after !== undefined && after !== '') {
          this.findings.checked('resumes');
        }
        return;
      }
      default:
        line satisfies never;
    }
  }

  end(): void {
    // What is missing is found by `arrives`.
  }

  private seeEvent(line: LineOf<'event'>, id: string): void {
    const item = this.recording.itemOf(line.e, line.ch);
    if (item === undefined) return;
    this.compare(item, id, line.t);
    const view = this.recording.viewOf(line);
    const number = numberOf(id);
    if (view === undefined || Number.isNaN(number)) return;
    const before = this.numbers.get(view) ?? -1;
    this.numbers.set(view, number);
    if (number > before) return;
    if (this.recording.faults.any(['redis-lost'], view.confirmedAt, line.t)) return;
    this.report(
      item,
      line.t,
      `client ${line.c} received the id ${id} in ${line.ch} at ${seconds(line.t)}, after the number ${before}: numbers must grow`,
    );
  }

  /** Compares an id with those that the event has elsewhere, and with those of other events. */
  private compare(item: Item, id: string, t: number): void {
    const { sending, channel } = item;
    if (item.id === undefined) {
      const key = `${channel.name}\n${id}`;
      const other = this.ids.get(key);
      this.ids.set(key, item);
      if (other === undefined || other === item) return;
      this.report(
        item,
        t,
        `events ${other.sending.name} and ${sending.name} in ${channel.name} have the same id ${id}`,
      );
      return;
    }
    if (item.id === id) return;
    this.report(
      item,
      t,
      `event ${sending.name} in ${channel.name} has two ids: ${item.id}, and ${id} at ${seconds(t)}`,
    );
  }

  private report({ sending, channel }: Item, t: number, text: string): void {
    const events = [sending.name];
    this.findings.broken({ rule: 'resumes', channel: channel.name, client: null, events, t, text });
  }
}

function numberOf(id: string): number {
  return /^\d+-/.test(id) ? Number.parseInt(id, 10) : Number.NaN;
}
