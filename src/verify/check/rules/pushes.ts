import { type Evidence, type Rule, seconds } from '../rule.ts';

/** After these, a device may get the same notification again. */
const DOUBLING = ['kill', 'power', 'gateway', 'pause', 'cut-off'] as const;

/** Each device of a publish is notified, or there is a reason; and not twice. */
export function pushes({ recording, findings, publishes }: Evidence): Rule {
  const report = (t: number, text: string) => findings.broken('pushes', { t, text });
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
      for (const { sent, acceptedAt, isRefused, notified, explained } of publishes.all.values()) {
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
          const [once, twice] = all.filter(({ result }) => result === 'accepted');
          if (once === undefined || twice === undefined) continue;
          if (recording.faults.any(DOUBLING, sent.t, twice.t)) continue;
          const times = `${seconds(once.t)} and ${seconds(twice.t)}`;
          report(twice.t, `device ${device} was notified of ${p} twice: ${times}`);
        }
      }
    },
  };
}
