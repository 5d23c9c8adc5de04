import { z } from 'zod';
import { parseRange } from '../runtime/ip-address.ts';

/** The largest count a limit takes; more than that is a typing error. */
export const COUNT_MAX = 1_000_000_000;

/** A day: the largest time a timer setting takes, far below the 24.8 days that a timer can hold. */
export const SECONDS_MAX = 86_400;

/** One gibibyte: the largest size a setting takes. */
export const BYTES_MAX = 1_073_741_824;

/** The least a frame, request or buffer may be allowed. */
export const BYTES_MIN = 1;

interface Range {
  readonly min: number;
  readonly max: number;
}

/** Describes a whole number within a range, both ends included. */
export function wholeNumber(range: Range, fallback: number, description: string) {
  const error = (issue: { readonly input?: unknown }) =>
    Number.isInteger(issue.input)
      ? `must be between ${range.min} and ${range.max}, got ${issue.input}`
      : `must be a whole number, got ${issue.input}`;
  return z
    .number()
    .int({ error })
    .min(range.min, { error })
    .max(range.max, { error })
    .default(fallback)
    .describe(description);
}

/** Describes a count for which 0 means "no limit". */
export function limit(fallback: number, description: string) {
  return wholeNumber({ min: 0, max: COUNT_MAX }, fallback, `${description}; 0 = no limit.`);
}

/** Describes a TCP port to listen on. */
export function port(fallback: number, description: string) {
  return wholeNumber({ min: 0, max: 65_535 }, fallback, `${description}; 0 = any free port.`);
}

/** Describes a setting that is on or off. */
export function onOff(fallback: boolean, description: string) {
  return z.boolean().default(fallback).describe(description);
}

/** Describes a text that may not be empty. */
export function text(description: string) {
  return anyText(description).min(1, { error: 'must not be empty' });
}

/** Describes a text that may be empty. */
export function anyText(description: string) {
  // PostgreSQL has no text with this character in it.
  return z
    .string()
    .refine((given) => !given.includes('\0'), { error: 'must not have the character U+0000' })
    .describe(description);
}

/** Describes a text of a given form. `rule` completes the sentence "must …". */
export function textThat(pattern: RegExp, rule: string, description: string) {
  return z
    .string()
    .regex(pattern, { error: `must ${rule}` })
    .describe(description);
}

/** Describes an address that requests are sent to. */
export function httpUrl(description: string) {
  return z
    .string()
    .refine((url) => /^https?:\/\//i.test(url) && URL.canParse(url), {
      error: 'must be an http or https URL',
    })
    .describe(description);
}

/** Describes the scheme, host and port of a server, to which a gateway adds its own paths. */
export function origin(description: string) {
  return (
    z
      .string()
      .refine((url) => /^https?:\/\/[^/?#@\s]+\/?$/i.test(url) && URL.canParse(url), {
        error: 'must be an origin such as https://push.example.org',
      })
      // A path is written after it, which brings its own slash.
      .overwrite((url) => url.replace(/\/$/, ''))
      .describe(description)
  );
}

/** Describes an IP address, or a range of them in CIDR notation. */
export function addressRange(description: string) {
  return z
    .string()
    .refine((text) => parseRange(text) !== undefined, {
      error: 'must be an IP address or a range such as 10.0.0.0/8',
    })
    .describe(description);
}

/** Makes a text optional: `null`, which is also the default, says that there is none. */
export function orNull(kind: z.ZodString, description: string) {
  return kind.nullable().default(null).describe(description);
}

/** Describes a list with at least one entry. */
export function oneOrMore<Entry extends z.ZodType>(entry: Entry, description: string) {
  return z.array(entry).min(1, { error: 'must have at least one entry' }).describe(description);
}
