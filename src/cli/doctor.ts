import { readFileSync } from 'node:fs';
import { examine, type Subject } from '../doctor/examine.ts';
import { formatCheck, Report } from '../doctor/report.ts';
import { type Arguments, JSON_OPTION, type Option } from './options.ts';
import { type ExitCode, type Output, UsageError } from './output.ts';

const TIMEOUT_SECONDS = 5;
const IDLE_SECONDS = 5;
/** A timer cannot wait longer than 2³¹ ms. Source: Node, "Timers". */
const SECONDS_MAX = 2_000_000;

export const DOCTOR_OPTIONS: readonly Option[] = [
  {
    name: 'url',
    value: 'URL',
    help: 'Where clients reach the server, like https://realtime.example.com.',
  },
  { name: 'key', value: 'KEY', help: 'The key of the app.' },
  {
    name: 'secret',
    value: 'SECRET',
    help: 'Its secret; without it, nothing is signed. Never sent and never printed.',
  },
  { name: 'app-id', value: 'ID', help: 'Its id; without it, the HTTP API is not called.' },
  { name: 'api-url', value: 'URL', help: 'Where backends reach the server, if elsewhere.' },
  {
    name: 'timeout',
    value: 'SECONDS',
    help: `How long each step may take; ${TIMEOUT_SECONDS} if left out.`,
  },
  {
    name: 'idle',
    value: 'SECONDS',
    help: `How long a silent connection must stay open; ${IDLE_SECONDS} if left out. Proxies often cut at 60: --idle 130 checks that.`,
  },
  { name: 'ca', value: 'FILE', help: 'A certificate authority to trust too, as PEM.' },
  { name: 'insecure', help: 'Go on although the certificate is not trusted.' },
  JSON_OPTION,
];

/** `fanfare doctor`: says what is wrong between here and a server, and how to mend it. */
export async function doctor(given: Arguments, output: Output): Promise<ExitCode> {
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
  const [word] = given.words;
  if (word !== undefined) throw new UsageError(`unexpected "${word}"`);
  const file = given.value('ca');
  return {
    url: required(given, 'url'),
    key: required(given, 'key'),
    apiUrl: given.value('api-url'),
    secret: given.value('secret'),
    appId: given.value('app-id'),
    idleMs: secondsOf(given, 'idle', IDLE_SECONDS) * 1000,
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

function secondsOf(given: Arguments, name: string, otherwise: number): number {
  const text = given.value(name);
  if (text === undefined) return otherwise;
  if (!/^\d+(\.\d+)?$/.test(text) || Number(text) > SECONDS_MAX) {
    throw new UsageError(
      `--${name} must be a number of seconds, at most ${SECONDS_MAX}, not "${text}"`,
    );
  }
  return Number(text);
}

function timeoutOf(given: Arguments): number {
  const seconds = secondsOf(given, 'timeout', TIMEOUT_SECONDS);
  if (seconds === 0) throw new UsageError('--timeout must be more than 0');
  return seconds;
}

function readCertificate(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(
      `--ca: ${file} cannot be read (${error instanceof Error ? error.message : error})`,
    );
  }
}
