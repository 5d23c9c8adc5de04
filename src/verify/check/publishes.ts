import type { LineOf } from '../history/line.ts';

type Publish = LineOf<'publish'>;

/** A publish of notifications, and everything that is known about it. */
export interface Published {
  readonly sent: Publish;
  /** When it was answered with 200. */
  acceptedAt: number;
  isRefused: boolean;
  /** By device: when a gateway got its notifications. */
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

  apply(line: Publish | LineOf<'published'> | LineOf<'notified'> | LineOf<'explained'>): void {
    const known = this.all.get(line.p);
    switch (line.op) {
      case 'publish':
        if (known !== undefined) return;
        this.all.set(line.p, {
          sent: line,
          acceptedAt: Number.POSITIVE_INFINITY,
          isRefused: false,
          notified: new Map(),
          explained: new Map(),
          repeated: new Set(),
        });
        return;
      case 'published':
        if (known === undefined) return;
        if (line.status === 200) known.acceptedAt = Math.min(known.acceptedAt, line.t);
        known.isRefused = line.status >= 400 && line.status < 500;
        return;
      case 'notified': {
        if (known === undefined || !Object.hasOwn(known.sent.devices, line.d)) {
          this.strange.push(line);
          return;
        }
        const notified = known.notified.get(line.d) ?? [];
        notified.push(line);
        if (known.explained.get(line.d) === 'accepted') known.repeated.add(line);
        known.notified.set(line.d, notified);
        return;
      }
      case 'explained':
        known?.explained.set(line.d, line.state);
        return;
      default:
        line satisfies never;
    }
  }
}
