import { z } from 'zod';
import { parseRange } from '../../runtime/ip-address.ts';
import { listenHostRule, readListenHost, UNIX_PEER } from '../../runtime/listen-host.ts';
import { quote } from '../file/problems.ts';

// A schema that compiles a parser when it is first used takes longer for that than for all that a server parses.
z.config({ jitless: true });

/** The largest value of a count. More is a typing error. */
export const COUNT_MAX = 1_000_000_000;

/** The largest value of a time: one day, far below the 24.8 days that a timer can hold. */
export const SECONDS_MAX = 86_400;

/** The largest value of a size: one gibibyte. */
export const BYTES_MAX = 1_073_741_824;

/** The smallest size of a frame, request or buffer. */
export const BYTES_MIN = 1;

interface Range {
  readonly min: number;
  readonly max: number;
}

interface Issue {
  readonly input?: unknown;
}

/**
 * Describes a schema that was just made. `describe` would copy it, and so would each check that is added alone: the copies of
 * all settings took a twentieth of the CPU time of a start.
 */
function described<Kind extends z.ZodType>(kind: Kind, description: string): Kind {
  z.globalRegistry.add(kind, { description });
  return kind;
}

/** A whole number within a range, inclusive. */
export function wholeNumber(range: Range, fallback: number, description: string) {
  return described(numberIn(range).default(fallback), description);
}

/** A whole number within a range, inclusive, or null. */
export function numberOrNull(range: Range, description: string) {
  return described(numberIn(range).nullable().default(null), description);
}

/** A whole number within a range, inclusive, without a default. */
export function requiredNumber(range: Range, description: string) {
  return described(numberIn(range), description);
}

function numberIn({ min, max }: Range) {
  return integer({ min, max }, ({ input }) => {
    // What is no number is worded like every other wrong type.
    if (typeof input !== 'number') return undefined;
    return Number.isInteger(input)
      ? `must be between ${min} and ${max}, got ${input}`
      : `must be a whole number, got ${input}`;
  });
}

function integer({ min, max }: Range, error: (issue: Issue) => string | undefined) {
  return z.int({ error }).check(z.gte(min, { error }), z.lte(max, { error }));
}

/** One word, or a whole number within a range, inclusive. */
export function wordOrNumber<Word extends string>(word: Word, range: Range) {
  const error = ({ input }: Issue) => {
    const got = typeof input === 'string' ? quote(input) : input;
    return `must be "${word}" or a whole number from ${range.min} to ${range.max}, got ${got}`;
  };
  return z.union([z.literal(word), integer(range, error)], { error });
}

/** A count for which 0 means "no limit". */
export function limit(fallback: number, description: string) {
  return wholeNumber({ min: 0, max: COUNT_MAX }, fallback, `${description}; 0 = no limit.`);
}

/** The address or name to listen on. `text` refuses an empty one. */
export function listenHost(fallback: string) {
  return text('')
    .refine((given) => given === '' || readListenHost(given) !== undefined, {
      error: ({ input }) => listenHostRule(String(input)),
    })
    .overwrite((given) => readListenHost(given) ?? given)
    .default(fallback)
    .describe(
      'The address to listen on: an IP address, a name of this machine, or `unix:` and the absolute path of a Unix socket, for a [proxy on this machine](../operate/deploy.md#a-proxy-over-unix-sockets). The port does not count then.',
    );
}

/** A TCP port to listen on. */
export function port(fallback: number, description: string) {
  return wholeNumber({ min: 0, max: 65_535 }, fallback, `${description}; 0 = any free port.`);
}

/** How long an HTTP connection may be idle. `max`: what the runtime of the listener allows. */
export function httpIdleSeconds(max: number) {
  return wholeNumber(
    { min: 0, max },
    240,
    'Seconds after which an HTTP connection without a request is closed. Must exceed the time that proxies and load balancers keep theirs; 0 = never.',
  );
}

/** A setting that is on or off. */
export function onOff(fallback: boolean, description: string) {
  return described(z.boolean().default(fallback), description);
}

/** PostgreSQL cannot store this character. */
const withoutNull = z.refine<string>((given) => !given.includes('\0'), {
  error: 'must not contain U+0000',
});

const notEmpty = z.minLength(1, { error: 'must not be empty' });

/** A text that must not be empty. */
export function text(description: string) {
  return described(z.string().check(withoutNull, notEmpty), description);
}

/** A text that may be empty. */
export function anyText(description: string) {
  return described(z.string().check(withoutNull), description);
}

/** A text that matches a pattern. `rule` completes the sentence "must …". */
export function textThat(pattern: RegExp, rule: string, description: string) {
  return described(z.string().regex(pattern, { error: `must ${rule}` }), description);
}

/** A URL that receives requests. */
export function httpUrl(description: string) {
  return described(
    z.string().refine((url) => /^https?:\/\//i.test(url) && URL.canParse(url), {
      error: 'must be an http or https URL',
    }),
    description,
  );
}

/** The scheme, host and port of a server. The gateway adds its own paths. */
export function origin(description: string) {
  return (
    z
      .string()
      .refine((url) => /^https?:\/\/[^/?#@\s]+\/?$/i.test(url) && URL.canParse(url), {
        error: 'must be an origin such as https://push.example.org',
      })
      // Paths are appended, and begin with a slash of their own.
      .overwrite((url) => url.replace(/\/$/, ''))
      .describe(description)
  );
}

/** An IP address, or a range in CIDR notation. */
export function addressRange(description: string) {
  return z
    .string()
    .refine((text) => parseRange(text) !== undefined, {
      error: 'must be an IP address or a range such as 10.0.4.0/28',
    })
    .describe(description);
}

/** An IP address, a range, or `unix`: the programs that connect to a Unix socket. */
export function senderRange(description: string) {
  return z
    .string()
    .refine((text) => text === UNIX_PEER || parseRange(text) !== undefined, {
      error: `must be an IP address, a range such as 10.0.4.0/28, or ${UNIX_PEER}`,
    })
    .describe(description);
}

/** The prefix of every path of a listener. */
export const pathPrefix = textThat(
  /^(?:\/[^/?#\s]+)*$/,
  "be empty, or begin with '/' and not end with it",
  '',
)
  .default('')
  .describe("The prefix of every path of this listener: empty, or begins with '/'.");

/** Whether load balancers may ask on the port that they balance. */
export const healthChecks = onOff(
  true,
  'Answer `/healthz` and `/readyz` on this port too, without reasons, for load balancers that only ask the port that they balance.',
);

/** An optional text. The default is `null`: none. */
export function orNull(kind: z.ZodString, description: string) {
  return described(kind.nullable().default(null), description);
}

/** A list with at least one entry. */
export function oneOrMore<Entry extends z.ZodType>(entry: Entry, description: string) {
  return described(z.array(entry).min(1, { error: 'must have at least one entry' }), description);
}
