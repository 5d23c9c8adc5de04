import { z } from 'zod';
import { logLevels } from '../runtime/logging/log-level.ts';
import { ENCODING_RULE, isReadableAddress } from '../runtime/login-encoding.ts';
import { channelsSettings } from './settings/channels-settings.ts';
import { clientTls } from './settings/client-tls.ts';
import { outgoingSettings } from './settings/outgoing-settings.ts';
import { pushSettings } from './settings/push-settings.ts';
import {
  addressRange,
  httpIdleSeconds,
  listenHost,
  oneOrMore,
  onOff,
  orNull,
  pathPrefix,
  port,
  SECONDS_MAX,
  senderRange,
  text,
  textThat,
  wholeNumber,
  wordOrNumber,
} from './settings/setting-kinds.ts';
import { sourcesSettings } from './settings/sources-settings.ts';
import { tlsSettings } from './settings/tls-settings.ts';

const headerName = textThat(/^[\w-]{1,100}$/, 'be the name of a header', '');

const admin = z
  .strictObject({
    host: listenHost('127.0.0.1'),
    port: port(6003, 'The port to listen on'),
    pathPrefix,
    password: orNull(
      text(''),
      'The password of the dashboard and the admin API; null = the server creates one in a file next to the store, see `fanfare admin password`.',
    ),
    httpIdleSeconds: httpIdleSeconds(SECONDS_MAX),
    proxy: z
      .strictObject({
        trust: oneOrMore(
          senderRange(''),
          'Addresses and CIDR ranges of the proxy; `unix` if `admin.host` is a Unix socket: then every program that may write to it can name users. The headers of others are ignored.',
        ),
        userHeader: headerName.describe('The header that names the user, such as `Remote-User`.'),
        groupsHeader: headerName
          .nullable()
          .default(null)
          .describe('The header with the groups of the user; null = there is none.'),
        groupsSeparator: z
          .enum([',', '|'])
          .default(',')
          .describe(
            'What separates the groups in it: a comma, or | as authentik does. No other character does, so that nobody becomes a member of `ops` who may name a group `x|ops`.',
          ),
      })
      .nullable()
      .default(null)
      .describe('A proxy that logs users in and names them in headers; null = there is none.'),
    roles: z
      .array(
        z.strictObject({
          group: text('A group that the proxy names; `*` = everybody whom it lets in.'),
          role: z
            .enum(['viewer', 'support', 'operator', 'admin'])
            .describe(
              'viewer: figures; support: also payloads; operator: also send, replay and disconnect; admin: everything.',
            ),
          apps: z.array(text('')).optional().describe('Only these apps. Without it: all.'),
          instances: z
            .array(text(''))
            .optional()
            .describe('Only these push instances. Without it: all.'),
          payloads: z
            .enum(['show', 'hide'])
            .default('show')
            .describe('Whether these users see payloads, if their role does.'),
        }),
      )
      .default([])
      .describe(
        'The roles of users who log in through the proxy. The first entry with a group of the user applies; users without an entry have no rights.',
      ),
  })
  .prefault({})
  .describe('The listener for the dashboard, the admin API, metrics and health checks.');

const dashboard = z
  .strictObject({
    enabled: onOff(true, 'Serve the dashboard. Without it, the admin API and its log-in stay.'),
    payloads: z
      .enum(['show', 'hide'])
      .default('show')
      .describe(
        'Whether the dashboard and the admin API show payloads, metadata and other personal data. `hide` leaves names, sizes and counts.',
      ),
  })
  .prefault({})
  .describe('The dashboard, a web page of the admin listener.');

const webhooks = z
  .strictObject({
    allowPrivateAddresses: onOff(false, 'Allow webhooks to private and loopback addresses.'),
    timeoutSeconds: wholeNumber(
      { min: 1, max: SECONDS_MAX },
      10,
      'Timeout of a webhook request of Channels in seconds. Push webhooks always have 3 s.',
    ),
    logDays: wholeNumber(
      { min: 0, max: 3650 },
      7,
      'Days to keep the log of webhook requests; 0 = no log.',
    ),
  })
  .prefault({})
  .describe('Webhooks of both products.');

const engineType = 'How nodes share their state: `memory` for one node, `redis` for several.';

// The setting exists for the other type, so "unknown setting" alone would mislead.
const memory = z.strictObject(
  { type: z.literal('memory').optional().default('memory').describe(engineType) },
  {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? 'unknown setting when engine.type is "memory"'
        : undefined,
  },
);

const redisUrl = /^rediss?(?:\+(?:sentinel|cluster))?:\/\/./;

const redisUrlRule =
  'begin with redis://, rediss://, redis+sentinel://, rediss+sentinel://, redis+cluster:// or rediss+cluster://';

/** The partitions of the state: more servers than these would have nothing to do. */
const REDIS_SERVERS_MAX = 64;

// That exactly one of `url` and `urls` is set is a cross-check.
const redis = z.strictObject({
  type: z.literal('redis').describe(engineType),
  url: textThat(
    redisUrl,
    redisUrlRule,
    'The Redis server: redis://USER:PASSWORD@HOST:PORT/DB, rediss://… (TLS), redis+sentinel://HOST:PORT,HOST:PORT/NAME, or redis+cluster://USER:PASSWORD@HOST:PORT,HOST:PORT. Required if the type is `redis`, unless `urls` is set.',
  ).optional(),
  urls: oneOrMore(
    textThat(redisUrl, redisUrlRule, ''),
    'Several Redis servers, in place of `url`: each holds a part of the state. Every server of the cluster must have the same list, in the same order.',
  )
    .max(REDIS_SERVERS_MAX, { error: `must have at most ${REDIS_SERVERS_MAX} entries` })
    .optional(),
  keyPrefix: z
    .string()
    .max(100)
    .default('fanfare:')
    .describe(
      'Begins the name of every key and channel in Redis. Servers with another prefix are another cluster.',
    ),
  tls: clientTls({
    ca: "A PEM file of certificate authorities to trust for Redis instead of the system's; null = the system's.",
    certificate:
      'The PEM file of the certificate, with its chain, for a Redis that asks its clients for one; null = none.',
    group:
      'TLS to Redis, for addresses that begin with rediss. Renewed files are used within two minutes, or at SIGHUP.',
  }),
  sentinels: z
    .strictObject({
      user: orNull(text(''), 'The user at the sentinels; null = their default user.'),
      password: orNull(
        text(''),
        'The password at the sentinels. What the address of Redis contains is for Redis only; null = they ask for none.',
      ),
      tls: clientTls({
        ca: 'A PEM file of certificate authorities to trust for the sentinels; null = as `engine.tls.caFile`.',
        certificate:
          'The PEM file of the certificate for sentinels that ask for one; null = as `engine.tls.certFile`.',
        group: 'TLS to the sentinels, for rediss+sentinel:// addresses.',
      }),
    })
    .prefault({})
    .describe('The sentinels of a redis+sentinel:// address.'),
});

const engine = z
  .discriminatedUnion('type', [memory, redis])
  .prefault({})
  .describe('The connection between the nodes of a cluster.');

/**
 * Whether SQLite, Bun and this server all read the same path in a `sqlite:` URL. SQLite supports URIs
 * (`file:a.db?mode=ro`), this server does not, and Bun trims white space.
 */
function namesOneFile(url: string): boolean {
  const path = /^sqlite:(?:\/\/)?(.*)$/s.exec(url)?.[1];
  if (path === undefined || path === ':memory:') return true;
  return !/^[a-z][a-z\d+.-]+:|[?\p{Cc}]|^\s|[\s/]$|^$/iu.test(path);
}

/** The number of threads if the configuration does not set it. */
const THREADS_DEFAULT: 'auto' | number = 'auto';

const realtime = z
  .strictObject({
    threads: wordOrNumber('auto', { min: 1, max: 64 })
      .default(THREADS_DEFAULT)
      .describe(
        'Threads that serve clients and backends of Channels, on the same port. `auto` = 1 on one and two cores, above that the cores that the process may use minus one for other work, and fewer with less than 4 GiB of memory; 1 on systems other than Linux.',
      ),
  })
  .prefault({})
  .describe('The realtime loops, which serve clients and backends of Channels.');

const store = z
  .strictObject({
    url: textThat(
      /^(?:sqlite:.|postgres(?:ql)?:\/\/.)/,
      'be sqlite:PATH or begin with postgres:// or postgresql://',
      '',
    )
      .refine((url) => !url.startsWith('postgres') || isReadableAddress(url), {
        error: `must be a valid address; ${ENCODING_RULE}`,
      })
      .refine(namesOneFile, {
        error:
          'must be sqlite:PATH of one file, without a scheme such as file:, question marks, control characters, and white space or a slash at either end',
      })
      .default('sqlite:data/fanfare.db')
      .describe(
        'The database: sqlite:PATH, or postgres://USER:PASSWORD@HOST:PORT/NAME, with ?sslmode=verify-full for TLS (postgresql://… is the same).',
      ),
    tls: clientTls({
      ca: "A PEM file of certificate authorities to trust for PostgreSQL instead of the system's, or `sslrootcert` in the URL; null = the system's.",
      certificate:
        'The PEM file of the certificate, with its chain, for a PostgreSQL that asks its clients for one, or `sslcert` in the URL; null = none.',
      group: 'TLS to PostgreSQL. Renewed files are used within two minutes, or at SIGHUP.',
    }),
  })
  .prefault({})
  .describe('The database for everything that survives a restart.');

const log = z
  .strictObject({
    level: z.enum(logLevels).default('info').describe('The lowest level to write.'),
    format: z
      .enum(['auto', 'json', 'text'])
      .default('auto')
      .describe('The format of lines; auto = text on a terminal, JSON elsewhere.'),
  })
  .prefault({})
  .describe('The log of the server, on standard error.');

/** Every setting, with its default, bounds and description. */
export const configSchema = z.strictObject({
  channels: channelsSettings,
  realtime,
  push: pushSettings,
  admin,
  dashboard,
  webhooks,
  outgoing: outgoingSettings,
  tls: tlsSettings,
  engine,
  store,
  log,
  trustedProxies: z
    .array(addressRange(''))
    .default([])
    .describe(
      'Addresses and CIDR ranges of proxies in front of this server. Their `X-Forwarded-For` or `Forwarded` header names the client, for limits by address and for the log. Whoever connects to a Unix socket is always one. What they say of HTTPS counts for the cookie of the dashboard.',
    ),
  memoryBytes: wholeNumber(
    { min: 0, max: Number.MAX_SAFE_INTEGER },
    0,
    'Memory that the server may use, in bytes. All bounds that are not set follow from it. 0 = the limit of its container, or the memory of the machine.',
  ),
  stopDelaySeconds: wholeNumber(
    { min: 0, max: SECONDS_MAX },
    0,
    'Seconds for which a stopping server continues to serve, while `/readyz` already answers 503. Choose the time that load balancers need to notice.',
  ),
  drainSeconds: wholeNumber(
    { min: 0, max: SECONDS_MAX },
    8,
    'Seconds over which a stopping server of several spreads the closing of its connections; 0 = all at once. With 8, a stop takes less than the 10 s after which `docker stop` kills.',
  ),
  sources: sourcesSettings,
});

/** A deeply read-only value. */
export type DeepReadonly<T> = T extends readonly (infer Entry)[]
  ? readonly DeepReadonly<Entry>[]
  : T extends object
    ? { readonly [Name in keyof T]: DeepReadonly<T[Name]> }
    : T;

/** A checked configuration with every default filled in. */
export type Config = DeepReadonly<z.output<typeof configSchema>>;

/** The settings of one instance with every default filled in. */
export type InstanceSettings = NonNullable<Config['push']['instances']>[number];
