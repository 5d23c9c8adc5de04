import type { Line, LineOf } from '../history/line.ts';

/** A publish of notifications, and everything that is known about it. */
export interface Published {
  readonly sent: LineOf<'publish'>;
  /** When it was answered with 200. */
  acceptedAt: number;
  isRefused: boolean;
  /** By device: when a gateway got its notifications, and what `explain` says. */
  readonly notified: Map<string, LineOf<'notified'>[]>;
  readonly explained: Map<string, string>;
  /** Notifications after it was known that a gateway had accepted the one before. */
  readonly repeated: Set<LineOf<'notified'>>;
}

/** The publishes of a history so far. */
export class Publishes {
  readonly all = new Map<string, Published>();
  /** Notifications of publishes that nobody has made. */
  readonly strange: LineOf<'notified'>[] = [];

  apply(line: Line): void {
    const known = 'p' in line ? this.all.get(line.p) : undefined;
    if (line.op === 'publish' && known === undefined) {
      this.all.set(line.p, {
        sent: line,
        acceptedAt: Number.POSITIVE_INFINITY,
        isRefused: false,
        notified: new Map(),
        explained: new Map(),
        repeated: new Set(),
      });
    } else if (line.op === 'published' && known !== undefined) {
      if (line.status === 200) known.acceptedAt = Math.min(known.acceptedAt, line.t);
      known.isRefused = line.status >= 400 && line.status < 500;
    } else if (line.op === 'explained') {
      known?.explained.set(line.d, line.state);
    } else if (line.op === 'notified') {
      const isAddressed = known !== undefined && Object.hasOwn(known.sent.devices, line.d);
      if (!isAddressed) return void this.strange.push(line);
      const before = known.notified.get(line.d) ?? [];
      known.notified.set(line.d, before);
      before.push(line);
      if (known.explained.get(line.d) === 'accepted') known.repeated.add(line);
    }
  }
}
