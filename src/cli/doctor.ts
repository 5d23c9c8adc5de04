import { readFileSync } from 'node:fs';
import type { Subject } from '../doctor/examination.ts';
import { messageOf } from '../runtime/error-code.ts';
import type { Invocation } from './invocation.ts';
import { type Arguments, JSON_OPTION, noOperand, type Option } from './options.ts';
import { type ExitCode, UsageError } from './output.ts';

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
  {
    name: 'secret',
    value: 'SECRET',
    help: 'The secret of the key. Without it, nothing is signed. It is never sent nor printed.',
  },
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
  { name: 'insecure', help: 'Continue even if the certificate is not trusted.' },
  JSON_OPTION,
];

/** `fanfare doctor`: finds what is wrong between here and a server, and says how to fix it. */
export async function doctor({ given, output }: Invocation): Promise<ExitCode> {
  // Loaded only here: a server starts faster without them.
  const { examine } = await import('../doctor/examine.ts');
  const { formatCheck, Report } = await import('../doctor/report.ts');
  const subject = readSubject(given);
  const asJson = given.has('json');
  const report = new Report(subject.secret, (check) => {
    if (!asJson) output.print(formatCheck(check));
  });
  await examine(subject, report);
  output.print(
    asJson
      ? JSON.stringify({ ok: report.ok, checks: report.checks }, undefined, 2)
      : `\n${report.conclusion}`,
  );
  return report.ok ? 0 : 1;
}

function readSubject(given: Arguments): Subject {
  noOperand(given);
  const file = given.value('ca');
  return {
    url: required(given, 'url'),
    key: required(given, 'key'),
    apiUrl: given.value('api-url'),
    secret: given.value('secret'),
    appId: given.value('app-id'),
    idleMs: secondsOf(given, { option: 'idle', fallback: IDLE_SECONDS }) * 1000,
    manner: {
      timeoutMs: timeoutOf(given) * 1000,
      ca: file === undefined ? undefined : readCertificate(file),
      insecure: given.has('insecure'),
    },
  };
}

function required(given: Arguments, name: string): string {
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

function timeoutOf(given: Arguments): number {
  const seconds = secondsOf(given, { option: 'timeout', fallback: TIMEOUT_SECONDS });
  if (seconds === 0) throw new UsageError('--timeout must be more than 0');
  return seconds;
}

function readCertificate(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`--ca: ${file} cannot be read (${messageOf(error)})`);
  }
}
