import type { FaultKind, LineOf } from '../../history/line.ts';
import { type Evidence, type Rule, seconds } from '../rule.ts';

type Notified = LineOf<'notified'>;

/** With these, a server may lose the result of a notification before it is stored. */
const LOSING = ['kill', 'power', 'gateway', 'store-away'] as const;

/** With these, a server may repeat what another one has done meanwhile. */
const OVERTAKING = ['pause', 'cut-off', 'clock'] as const;

/** Each device of a publish is notified, or there is a reason; and not twice. */
export function pushes({ recording, findings, publishes }: Evidence): Rule {
  const report = (t: number, text: string) => findings.broken('pushes', { t, text });
  /** Whether a device may get again what it got before. Only a fault between the two allows it. */
  const mayRepeat = (first: Notified, again: Notified, isKnown: boolean) => {
    const during = (kinds: readonly FaultKind[]) =>
      recording.faults.any(kinds, first.t - recording.header.T, again.t);
    return during(OVERTAKING) || (!isKnown && during(LOSING));
  };
  return {
    see: {
      publish: (line) => publishes.apply(line),
      published: (line) => publishes.apply(line),
      notified: (line) => publishes.apply(line),
      explained: (line) => publishes.apply(line),
    },
    end() {
      for (const { p, d, t } of publishes.strange) {
        report(t, `device ${d} was notified of ${p} at ${seconds(t)}, which does not address it`);
      }
      for (const publish of publishes.all.values()) {
        const { sent, acceptedAt, isRefused, notified, explained, repeated } = publish;
        const { p } = sent;
        for (const device of Object.keys(sent.devices)) {
          const all = notified.get(device) ?? [];
          const [first] = all;
          if (isRefused && first !== undefined) {
            report(first.t, `device ${device} was notified of ${p}, which was refused`);
            continue;
          }
          if (acceptedAt + recording.header.T <= recording.t) {
            findings.checked('pushes');
            if (first === undefined && !explained.has(device)) {
              const text = `device ${device} was never notified of ${p}, answered with 200 at ${seconds(acceptedAt)}, and there is no reason`;
              report(acceptedAt, text);
            }
          }
          const [once, ...others] = all.filter(({ result }) => result === 'accepted');
          if (once === undefined && explained.get(device) === 'accepted') {
            report(
              acceptedAt,
              `device ${device} counts as notified of ${p}, and no gateway got it`,
            );
          }
          const twice = others.find(
            (again) => !mayRepeat(once ?? again, again, repeated.has(again)),
          );
          if (once === undefined || twice === undefined) continue;
          const times = `${seconds(once.t)} and ${seconds(twice.t)}`;
          report(twice.t, `device ${device} was notified of ${p} twice: ${times}`);
        }
      }
    },
  };
}
