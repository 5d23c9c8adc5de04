const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const rough = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

/** 8,214; from a million 2.1 M. */
export function count(value: number): string {
  return value < 1_000_000 ? whole.format(value) : rough.format(value).replace(/([A-Z])$/, ' $1');
}

/** `3 channels`, `1 channel`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function bytes(value: number): string {
  if (value < 1000) return `${whole.format(value)} B`;
  for (const [unit, size] of [
    ['GB', 1e9],
    ['MB', 1e6],
  ] as const) {
    if (value >= size) return `${(value / size).toFixed(value < size * 10 ? 1 : 0)} ${unit}`;
  }
  return `${(value / 1000).toFixed(value < 10_000 ? 1 : 0)} kB`;
}

/** 3 d 4 h, 12 min, 8 s. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return hours % 24 === 0
    ? `${Math.floor(hours / 24)} d`
    : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** 12:03:04.118 in the time zone of the reader. */
export function preciseTime(ms: number): string {
  const date = new Date(ms);
  const parts = [date.getHours(), date.getMinutes(), date.getSeconds()];
  const text = parts.map((part) => String(part).padStart(2, '0')).join(':');
  return `${text}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** 12:03 today, else with the day: 23 Nov 12:03. */
export function moment(time: number | string, nowMs = Date.now()): string {
  const date = new Date(time);
  const clock = preciseTime(date.getTime()).slice(0, 5);
  if (date.toDateString() === new Date(nowMs).toDateString()) return clock;
  return `${date.getDate()} ${date.toLocaleString('en', { month: 'short' })} ${clock}`;
}

/**
 * Shortens an id such as `pubid-…` to the part that distinguishes it from its neighbours, which may begin with the
 * same time.
 */
export const shortId = (id: string) => id.replace(/^([a-z]+-).*(.{8})$/, '$1…$2');
