import type { Manners } from '../delivering/due-times.ts';
import type { DeviceStory, StoredDueTime } from '../model/delivery.ts';
import { instantIn, timeOfDayIn } from '../model/local-time.ts';

/** Says what a device waits for that is due later than its publish. */
export function dueText(
  { atMs, local, perSecond }: StoredDueTime,
  { preferences }: DeviceStory,
  manners: Manners,
): string {
  const own = preferences?.timeZone;
  const isKnown = own !== undefined && timeOfDayIn(own, atMs) !== undefined;
  const timeZone = isKnown ? own : (manners.timeZone ?? 'UTC');
  const unknown =
    own === undefined || isKnown
      ? ''
      : ` This server does not know its time zone ${own}, and uses that of the instance.`;
  const isLocal = local !== undefined && instantIn(timeZone, local) === atMs;
  const at = isoText(atMs);
  if (perSecond !== undefined) {
    const others = `the publish sends ${perSecond} per second, and others come first`;
    return `It is due ${at}: ${others}.${local === undefined ? '' : unknown}`;
  }
  if (isLocal) return `It is due ${at}, ${timeOfDayIn(timeZone, atMs)} in ${timeZone}.${unknown}`;
  const quietHours = preferences?.quietHours ?? manners.quietHours;
  return typeof quietHours === 'object'
    ? `Its quiet hours end at ${quietHours.to} (${timeZone}). It is due ${at}.${unknown}`
    : `It is due ${at}. It had quiet hours, or another time zone, when the publish was planned.${unknown}`;
}

/** Without the fraction of whole seconds. */
function isoText(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}
