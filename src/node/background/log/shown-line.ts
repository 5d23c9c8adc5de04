import type { LogFilter, ShownLine } from '../../../asking/facts/log.ts';
import type { NumberedLine } from '../../../observability/line-ring.ts';
import { logLevels } from '../../../runtime/logging/log-level.ts';

/** Returns a line as the reader may see it; `undefined` if the filter excludes it. */
export function shownLine(
  { n, text, level }: NumberedLine,
  { level: least, text: wanted, showsAddresses }: LogFilter,
): ShownLine | undefined {
  if (logLevels.indexOf(level) < logLevels.indexOf(least)) return undefined;
  const { time, level: _, message, ...fields } = JSON.parse(text);
  if (!showsAddresses) delete fields.address;
  if (wanted !== undefined) {
    const words = Object.entries(fields).map(([name, value]) => `${name}=${value}`);
    const searched = [message, ...words].join(' ').toLowerCase();
    if (!searched.includes(wanted.toLowerCase())) return undefined;
  }
  return { n, atMs: Date.parse(time), level, message, fields };
}
