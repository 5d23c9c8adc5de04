import type { FaultKind, LineOf } from '../../history/line.ts';
import { type MakeRule, seconds } from '../rule.ts';

type Notified = LineOf<'notified'>;

/** With these, a server may lose the result of a notification before it is stored. */
const LOSING = ['kill', 'power', 'gateway', 'store-away'] as const;

/** With these, a server may repeat what another one has done meanwhile. */
const OVERTAKING = ['pause', 'cut-off', 'clock'] as const;

/** Each device of a publish is notified, or there is a reason; and not twice. */
export const pushes: MakeRule = (recording, report) => {
  const { header, faults, publishes } = recording;
  /** Whether a device may get again what it got before. Only a fault between the two allows it. */
  const mayRepeat = (first: Notified, again: Notified, isKnown: boolean) => {
    const during = (kinds: readonly FaultKind[]) => faults.any(kinds, first.t - header.T, again.t);
    return during(OVERTAKING) || (!isKnown && during(LOSING));
  };
  return {
    end() {
      for (const { p, d, t } of publishes.strange) {
        const text = `device ${d} was notified of ${p} at ${seconds(t)}, which does not address it`;
        report.broken({ t, text });
      }
      for (const publish of publishes.all.values()) {
        const { sent, acceptedAt, isRefused, notified, explained, repeated } = publish;
        const { p } = sent;
        for (const device of Object.keys(sent.devices)) {
          const broken = (t: number, how: string) =>
            report.broken({ t, text: `device ${device} ${how}` });
          const all = notified.get(device) ?? [];
          const [first] = all;
          if (isRefused && first !== undefined) {
            broken(first.t, `was notified of ${p}, which was refused`);
            continue;
          }
          if (acceptedAt + header.T <= recording.t) {
            report.checked();
            const answered = `answered with 200 at ${seconds(acceptedAt)}`;
            if (first === undefined && !explained.has(device)) {
              broken(acceptedAt, `was never notified of ${p}, ${answered}, and there is no reason`);
            }
          }
          const [once, ...others] = all.filter(({ result }) => result === 'accepted');
          if (once === undefined) {
            if (explained.get(device) !== 'accepted') continue;
            broken(acceptedAt, `counts as notified of ${p}, and no gateway got it`);
            continue;
          }
          const twice = others.find((again) => !mayRepeat(once, again, repeated.has(again)));
          if (twice === undefined) continue;
          broken(twice.t, `was notified of ${p} twice: ${seconds(once.t)} and ${seconds(twice.t)}`);
        }
      }
    },
  };
};
