import { z } from 'zod';
import { channelsSettings } from './channels-settings.ts';
import { pushSettings } from './push-settings.ts';
import {
  addressRange,
  onOff,
  orNull,
  port,
  SECONDS_MAX,
  text,
  textThat,
  wholeNumber,
} from './setting-kinds.ts';

const admin = z
  .strictObject({
    host: text('').default('127.0.0.1').describe('The address to listen on.'),
    port: port(6003, 'The port to listen on'),
    password: orNull(
      text(''),
      'The password of the dashboard and the admin API; null = the server makes one and keeps it beside the store, see `fanfare admin password`.',
    ),
  })
  .prefault({})
  .describe('The listener for the dashboard, the admin API, metrics and health checks.');

const webhooks = z
  .strictObject({
    allowPrivateAddresses: onOff(
      false,
      'Whether webhooks may be sent to private and loopback addresses.',
    ),
    timeoutSeconds: wholeNumber(
      { min: 1, max: SECONDS_MAX },
      10,
      'Seconds one Channels webhook request may take before it counts as failed (push webhooks: always 3).',
    ),
    logDays: wholeNumber(
      { min: 0, max: 3650 },
      7,
      'Days that the log of webhook deliveries is kept; 0 = it is not kept.',
    ),
  })
  .prefault({})
  .describe('How webhooks of both products are sent.');

const tls = z
  .strictObject({
    certFile: orNull(text(''), 'The PEM file of the certificate with its chain; null = no TLS.'),
    keyFile: orNull(text(''), 'The PEM file of the private key; set together with `certFile`.'),
  })
  .prefault({})
  .describe('TLS for both public listeners; the files are read again on SIGHUP.');

const engineType = 'How nodes share what they know: `memory` for one node, `redis` for several.';

// Strict with words of its own: the setting exists, only not for this type.
const memory = z.strictObject(
  { type: z.literal('memory').optional().default('memory').describe(engineType) },
  {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? 'unknown setting where engine.type is "memory"'
        : undefined,
  },
);

const redis = z.strictObject({
  type: z.literal('redis').describe(engineType),
  url: textThat(
    /^rediss?:\/\/./,
    'begin with redis:// or rediss://',
    'The Redis server, redis://… or rediss://… (TLS); required where the type is `redis`, unknown elsewhere.',
  ),
});

const engine = z
  .discriminatedUnion('type', [memory, redis])
  .prefault({})
  .describe('What connects the nodes of a cluster.');

/**
 * Whether everybody understands the path of a store in SQLite alike. SQLite knows URIs (`file:a.db?mode=ro`), which
 * we do not, and Bun takes white space away.
 */
function namesOneFile(url: string): boolean {
  const path = /^sqlite:(?:\/\/)?(.*)$/s.exec(url)?.[1];
  if (path === undefined || path === ':memory:') return true;
  return !/^[a-z][a-z\d+.-]+:|[?\p{Cc}]|^\s|[\s/]$|^$/iu.test(path);
}

const store = z
  .strictObject({
    url: textThat(
      /^(?:sqlite:.|postgres(?:ql)?:\/\/.)/,
      'be sqlite:PATH or begin with postgres:// or postgresql://',
      '',
    )
      .refine(namesOneFile, {
        error:
          'must be sqlite:PATH of one file: without a scheme such as file:, question marks and control characters, and without white space or a slash at an end',
      })
      .default('sqlite:data/fanfare.db')
      .describe(
        'The database: sqlite:PATH, or postgres://USER:PASSWORD@HOST:PORT/NAME, with ?sslmode=verify-full for TLS (postgresql://… is the same).',
      ),
  })
  .prefault({})
  .describe('Where everything that survives a restart is kept.');

const log = z
  .strictObject({
    level: z
      .enum(['debug', 'info', 'warn', 'error'])
      .default('info')
      .describe('The least important lines that are written.'),
    format: z
      .enum(['auto', 'json', 'text'])
      .default('auto')
      .describe('How lines are written; auto = text on a terminal, JSON elsewhere.'),
  })
  .prefault({})
  .describe('What the server writes about itself.');

/** Every setting there is, with its default, its bounds and its description. */
export const configSchema = z.strictObject({
  channels: channelsSettings,
  push: pushSettings,
  admin,
  webhooks,
  tls,
  engine,
  store,
  log,
  trustedProxies: z
    .array(addressRange(''))
    .default([])
    .describe(
      'Addresses and CIDR ranges of proxies in front of this server: their `X-Forwarded-For` and `Forwarded` headers name the client, in limits by address and in the log.',
    ),
  drainSeconds: wholeNumber(
    { min: 0, max: SECONDS_MAX },
    10,
    'Seconds over which connections are closed when the server stops; 0 = all at once.',
  ),
});

/** A value that nobody changes, nor anything in it. */
export type DeepReadonly<T> = T extends readonly (infer Entry)[]
  ? readonly DeepReadonly<Entry>[]
  : T extends object
    ? { readonly [Name in keyof T]: DeepReadonly<T[Name]> }
    : T;

/** A configuration that was checked: every default filled in, every bound kept. */
export type Config = DeepReadonly<z.output<typeof configSchema>>;

/** One instance as the configuration has it, every default filled in. */
export type InstanceSettings = NonNullable<Config['push']['instances']>[number];
