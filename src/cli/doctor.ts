import type { Config } from '../config/schema.ts';
import type { ExaminedServer } from '../doctor/examination.ts';
import { type Finding, failed, notChecked, ok } from '../doctor/finding.ts';
import type { CheckResult } from '../doctor/report.ts';
import type { ExamineRedisOptions } from '../engines/redis/examine.ts';
import type { FoundServers } from '../node/background/cluster/find-servers.ts';
import { readPem, readRedisTls, readStoreTls } from '../node/tls-files.ts';
import { messageOf } from '../runtime/error-code.ts';
import { sqliteFileOf } from '../stores/database/database.ts';
import type { ExaminedStore } from '../stores/database/examine.ts';
import type { Invocation } from './invocation.ts';
import { type Arguments, CONFIG_OPTION, JSON_OPTION, noOperand, type Option } from './options.ts';
import { type ExitCode, UsageError } from './output.ts';
import { readConfig } from './read-config.ts';
import { secretOf, secretOptions } from './secret-option.ts';

const TIMEOUT_SECONDS = 5;
const IDLE_SECONDS = 5;
/** A timer cannot wait longer than 2³¹ ms. Source: Node, "Timers". */
const SECONDS_MAX = 2_000_000;

export const DOCTOR_OPTIONS: readonly Option[] = [
  {
    name: 'url',
    value: 'URL',
    help: 'The URL by which clients reach the server, like https://realtime.example.com.',
  },
  { name: 'key', value: 'KEY', help: 'The key of the app.' },
  ...secretOptions({
    name: 'secret',
    value: 'SECRET',
    help: 'The secret of the key. Without it, nothing is signed. It is never sent nor printed.',
  }),
  {
    name: 'app-id',
    value: 'ID',
    help: 'The id of the app. Without it, the HTTP API is not called.',
  },
  {
    name: 'api-url',
    value: 'URL',
    help: 'The URL by which backends reach the server. Default: --url.',
  },
  {
    name: 'auth-endpoint',
    value: 'URL',
    help: 'The URL at which the app authorises private and presence channels. It is asked as a page asks it, and its answer is judged.',
  },
  {
    name: 'auth-channel',
    value: 'NAME',
    help: 'A private or presence channel that the visitor may enter. Default: one that no app knows.',
  },
  ...secretOptions({
    name: 'auth-headers',
    value: 'HEADERS',
    help: 'What the browser of a visitor sends along to --auth-endpoint, such as "Cookie: session=…"; in a file one on each line.',
  }),
  {
    name: 'timeout',
    value: 'SECONDS',
    help: `How long each step may take. Default: ${TIMEOUT_SECONDS}.`,
  },
  {
    name: 'idle',
    value: 'SECONDS',
    help: `How long a silent connection must stay open. Default: ${IDLE_SECONDS}. Many proxies close it after 60: --idle 130 checks that.`,
  },
  { name: 'ca', value: 'FILE', help: 'A certificate authority to trust as well, as PEM.' },
  {
    name: 'redis',
    help: 'Check the Redis servers of the configuration instead, as a server uses them, and what all servers of a cluster must have in common.',
  },
  {
    name: 'store',
    help: 'Check the PostgreSQL of the configuration instead; with --redis, both.',
  },
  {
    name: 'proxy',
    help: 'Check the proxy of the configuration (outgoing.proxy, or HTTPS_PROXY) instead: whether it connects to the gateways of Apple, Google and Mozilla.',
  },
  CONFIG_OPTION,
  { name: 'insecure', help: 'Continue even if the certificate is not trusted.' },
  JSON_OPTION,
];

/** `fanfare doctor`: finds faults between this machine and a server, and explains how to fix them. */
export async function doctor(invocation: Invocation): Promise<ExitCode> {
  const { given, output } = invocation;
  // Loaded only here: a server starts faster without them.
  const { examine } = await import('../doctor/examine.ts');
  const { formatCheck, DoctorReport } = await import('../doctor/report.ts');
  const asJson = given.has('json');
  const show = (check: CheckResult) => {
    if (!asJson) output.print(formatCheck(check));
  };
  let report: InstanceType<typeof DoctorReport>;
  if (['redis', 'store', 'proxy'].some((option) => given.has(option))) {
    noOperand(given);
    const config = readConfig(invocation);
    if (config === undefined) return 2;
    const cluster = given.has('redis') ? clusterOf(config, timeoutOf(given) * 1000) : undefined;
    const store = given.has('store') ? storeOf(config) : undefined;
    const proxy = given.has('proxy') ? await proxyOf(config, timeoutOf(given)) : undefined;
    report = new DoctorReport(undefined, show);
    if (cluster !== undefined) {
      const { examineRedis } = await import('../engines/redis/examine.ts');
      for await (const finding of examineRedis(cluster)) report.add(finding.name, finding);
      if (report.firstFailed === undefined)
        report.add('servers', await judgeServers(config, given));
      report.add('admin-password', judgePassword(config.admin.password));
    }
    if (store !== undefined) {
      const { examinePostgres } = await import('../stores/database/examine.ts');
      for await (const finding of examinePostgres(store)) report.add(finding.name, finding);
    }
    for await (const finding of proxy ?? []) report.add(finding.name, finding);
  } else {
    const subject = readSubject(given);
    report = new DoctorReport(subject.secret, show);
    await examine(subject, report);
  }
  output.print(
    asJson
      ? JSON.stringify({ ok: report.ok, checks: report.checks }, undefined, 2)
      : `\n${report.conclusion}`,
  );
  return report.ok ? 0 : 1;
}

/** The Redis servers of a configuration. Throws `UsageError` if it has none, and `StartFailed` for a file of TLS. */
function clusterOf(config: Config, timeoutMs: number): ExamineRedisOptions {
  const { engine } = config;
  if (engine.type !== 'redis') {
    throw new UsageError('engine.type is "memory": there is no Redis to check');
  }
  const { url, urls = url === undefined ? [] : [url], keyPrefix, sentinels } = engine;
  const sentinelLogin = {
    user: sentinels.user ?? undefined,
    password: sentinels.password ?? undefined,
  };
  return { urls, keyPrefix, tls: readRedisTls(config), sentinelLogin, timeoutMs };
}

/** The PostgreSQL of a configuration, as `clusterOf`. */
function storeOf(config: Config): ExaminedStore {
  if (sqliteFileOf(config.store.url) !== undefined) {
    throw new UsageError('store.url names a file of SQLite: there is no PostgreSQL to check');
  }
  return { url: config.store.url, tls: readStoreTls(config) };
}

/** Whether the servers that run on this Redis are of the installation that the configuration describes. */
async function judgeServers(config: Config, given: Arguments): Promise<Finding> {
  const { findServers } = await import('../node/background/cluster/find-servers.ts');
  let found: FoundServers;
  try {
    found = await findServers(config, timeoutOf(given) * 1000);
  } catch (error) {
    return notChecked(messageOf(error));
  }
  const { names, strangers, silent, isOwnKnown } = found;
  if (names.length === 0) return ok('no server runs here at the moment');
  const run = names.length === 1 ? `1 server runs here` : `${names.length} servers run here`;
  if (strangers.length > 0) {
    const named = strangers.slice(0, NAMED_MAX).map(({ name, why }) => `${name} (${why})`);
    return failed(
      `${run}; ${strangers.length} of another installation: ${named.join(', ')}`,
      'Events and members of apps with the same id reach each other. Give this installation an engine.keyPrefix or a database of Redis of its own.',
    );
  }
  if (!isOwnKnown)
    return notChecked(`${run}, but the store of the configuration does not say whose`);
  const older = silent === 0 ? '' : `; ${silent} of an older release do not say whose`;
  return ok(`${run}, of this installation${older}: ${names.slice(0, NAMED_MAX).join(', ')}`);
}

/** Servers that a line names. */
const NAMED_MAX = 10;

/** The checks of the proxy of a configuration. Throws `UsageError` if it has none. */
async function proxyOf(config: Config, timeoutSeconds: number) {
  const { examineProxyOf } = await import('../node/examine-proxy.ts');
  const findings = examineProxyOf(config, timeoutSeconds * 1000);
  if (findings !== undefined) return findings;
  throw new UsageError('outgoing.proxy is not set: there is no proxy to check');
}

function judgePassword(password: string | null): Finding {
  return password === null
    ? {
        result: 'warning',
        detail: 'admin.password is not set, so each server makes a password of its own',
        advice:
          'Give all servers the same admin.password (FANFARE_ADMIN_PASSWORD_FILE). Otherwise the session of a dashboard on one server is none on the others.',
      }
    : { result: 'ok', detail: 'admin.password is set; all servers need the same' };
}

function readSubject(given: Arguments): ExaminedServer {
  noOperand(given);
  const file = given.value('ca');
  return {
    url: required(given, 'url'),
    key: required(given, 'key'),
    apiUrl: given.value('api-url'),
    secret: secretOf(given, 'secret'),
    appId: given.value('app-id'),
    authorization: readAuthorization(given),
    idleMs: secondsOf(given, { option: 'idle', fallback: IDLE_SECONDS }) * 1000,
    manner: {
      timeoutMs: timeoutOf(given) * 1000,
      ca: file === undefined ? undefined : readCertificate(file),
      insecure: given.has('insecure'),
    },
  };
}

function readAuthorization(given: Arguments): ExaminedServer['authorization'] {
  const url = given.value('auth-endpoint');
  const channel = given.value('auth-channel');
  const headers = secretOf(given, 'auth-headers');
  if (url === undefined) {
    const needing = channel === undefined ? headers && 'auth-headers' : 'auth-channel';
    if (needing !== undefined) throw new UsageError(`--${needing} needs --auth-endpoint`);
    return undefined;
  }
  if (channel !== undefined && !/^(?:private|presence)-/.test(channel)) {
    throw new UsageError('--auth-channel must begin with private- or presence-');
  }
  return { url, channel, headers: readHeaders(headers ?? '') };
}

/** Reads header fields, one on each line. They may be secrets, so what is wrong is not repeated. */
function readHeaders(text: string): Readonly<Record<string, string>> {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line, index) => {
      const [, name, value] =
        /^([\w!#$%&'*+.^`|~-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/.exec(line) ?? [];
      if (name === undefined || value === undefined) {
        throw new UsageError(`--auth-headers: line ${index + 1} is not "Name: value"`);
      }
      return [name, value.trimEnd()];
    }),
  );
}

/** The value of an option. Throws `UsageError` if there is none. */
export function required(given: Arguments, name: string): string {
  const value = given.value(name);
  if (value === undefined || value === '') throw new UsageError(`--${name} is missing`);
  return value;
}

interface SecondsOption {
  readonly option: string;
  readonly fallback: number;
}

function secondsOf(given: Arguments, { option, fallback }: SecondsOption): number {
  const text = given.value(option);
  if (text === undefined) return fallback;
  if (!/^\d+(\.\d+)?$/.test(text) || Number(text) > SECONDS_MAX) {
    throw new UsageError(
      `--${option} must be a number of seconds, at most ${SECONDS_MAX}, not "${text}"`,
    );
  }
  return Number(text);
}

/** The value of `--timeout`. Throws `UsageError`. */
export function timeoutOf(given: Arguments): number {
  const seconds = secondsOf(given, { option: 'timeout', fallback: TIMEOUT_SECONDS });
  if (seconds === 0) throw new UsageError('--timeout must be more than 0');
  return seconds;
}

/** Reads the file of `--ca`. Throws `StartFailed`. */
export function readCertificate(file: string): string {
  return readPem({ setting: '--ca', file }, 'certificate');
}
