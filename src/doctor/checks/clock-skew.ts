import { type Finding, failed, notChecked, ok, warning } from '../finding.ts';

/** Seconds off at which signed requests are refused. Source: Channels protocol, §14.1. */
const REFUSED_SECONDS = 600;
/** Seconds off that are worth mending before they grow. */
const SUSPICIOUS_SECONDS = 60;

const MEND =
  'Compare both with a clock you trust (date -u), and let both follow one: timedatectl set-ntp true, or chronyd.';

/** Compares the server's clock, as its `Date` header shows it, with the one here. */
export function judgeClock(dateHeader: string | undefined, nowMs: number): Finding {
  if (dateHeader === undefined) return notChecked('the answer has no Date header');
  const serverMs = Date.parse(dateHeader);
  if (Number.isNaN(serverMs)) return notChecked('the Date header is no date');
  const offSeconds = Math.round((serverMs - nowMs) / 1000);
  const words = describeSkew(offSeconds);
  if (Math.abs(offSeconds) >= REFUSED_SECONDS) {
    return failed(
      `${words}; signed requests are refused from ${REFUSED_SECONDS} s on`,
      `One of the two clocks is wrong. ${MEND}`,
    );
  }
  return Math.abs(offSeconds) >= SUSPICIOUS_SECONDS
    ? warning(words, `From ${REFUSED_SECONDS} s on, signed requests are refused. ${MEND}`)
    : ok(words);
}

/** Explains a 401 that was caused by a wrong clock; `undefined` if it has another cause. */
export function explainExpiredTimestamp(text: string, nowMs: number): Finding | undefined {
  if (!/timestamp expired/i.test(text)) return undefined;
  const stated = /server time \(([^()]*)\)/.exec(text)?.[1];
  const serverMs = stated === undefined ? Number.NaN : Date.parse(stated);
  const off = Number.isNaN(serverMs)
    ? 'the clocks of the server and of this machine are too far apart'
    : describeSkew(Math.round((serverMs - nowMs) / 1000));
  return failed(
    `the signature is refused as out of date: ${off}`,
    `One of the two clocks is wrong. ${MEND}`,
  );
}

function describeSkew(offSeconds: number): string {
  if (Math.abs(offSeconds) <= 1) return 'the clock of the server agrees with the one here';
  const direction = offSeconds > 0 ? 'ahead of' : 'behind';
  return `the clock of the server is ${Math.abs(offSeconds)} s ${direction} the one here`;
}
