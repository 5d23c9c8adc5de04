import { Recorder } from '../../src/verify/crowd/recorder.ts';
import type { Fields, Op } from '../../src/verify/history/line.ts';

/** Records what clients see, and those faults alone that a scene has made: lost connections are no fault by themselves. */
export class FaultRecorder extends Recorder {
  /** When everything was last compared while nothing changed. Milliseconds of the history. */
  calmAt = Number.NEGATIVE_INFINITY;
  triggersAnswered = 0;

  override add<O extends Op>(op: O, fields: Fields[O], t?: number): void {
    super.add(op, fields, t);
    if (op === 'calm') this.calmAt = this.now;
    if ('status' in fields && op === 'answer' && fields.status === 200) this.triggersAnswered++;
  }

  override connectionLost(): void {
    // A scene notes its faults itself.
  }
}
