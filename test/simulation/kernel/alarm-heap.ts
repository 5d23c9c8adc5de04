import type { Context } from './context.ts';

/** Something that is to happen. */
export interface Alarm {
  atMs: number;
  /** Of alarms at one moment, the one with the lower number is first. */
  readonly order: number;
  readonly run: () => void;
  readonly context: Context;
  isCancelled: boolean;
}

/** Alarms, the next one first: a binary heap. */
export class AlarmHeap {
  private readonly alarms: Alarm[] = [];

  get first(): Alarm | undefined {
    return this.alarms[0];
  }

  put(alarm: Alarm): void {
    const { alarms } = this;
    let place = alarms.push(alarm) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = alarms[parent];
      if (above === undefined || isBefore(above, alarm)) break;
      alarms[place] = above;
      place = parent;
    }
    alarms[place] = alarm;
  }

  takeFirst(): void {
    const { alarms } = this;
    const last = alarms.pop();
    if (last === undefined || alarms.length === 0) return;
    let place = 0;
    for (;;) {
      const left = alarms[2 * place + 1];
      const right = alarms[2 * place + 2];
      const isRight = left !== undefined && right !== undefined && isBefore(right, left);
      const below = isRight ? right : left;
      if (below === undefined || isBefore(last, below)) break;
      alarms[place] = below;
      place = 2 * place + (isRight ? 2 : 1);
    }
    alarms[place] = last;
  }
}

function isBefore(a: Alarm, b: Alarm): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
