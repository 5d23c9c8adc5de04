import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import type { Credentials } from '../../doctor/client/signed-request.ts';
import { BUILT_VERSION } from '../../node/built-version.ts';
import { fileFault, messageOf } from '../../runtime/error-code.ts';
import { monotonicTimers } from '../../runtime/system-timers.ts';
import type { Verdict } from '../../verify/check/verdict.ts';
import type { Header } from '../../verify/history/line.ts';
import type { Report } from '../../verify/report.ts';
import { readCertificate, required, timeoutOf } from '../doctor.ts';
import type { Invocation } from '../invocation.ts';
import { noOperand } from '../options.ts';
import { type ExitCode, UsageError } from '../output.ts';
import { secretOf } from '../secret-option.ts';
import { onlyCheck, readNumbers, readPrefixes } from './verify-options.ts';

/** How long an event may take. Milliseconds. */
const IN_TIME_MS = 5000;

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** `fanfare verify`: sends events to clients of its own, or reads a recording, and decides whether what was promised was kept. */
export async function verify(invocation: Invocation): Promise<ExitCode> {
  const { given } = invocation;
  noOperand(given);
  const file = given.value('check');
  if (file === undefined) return await verifyServer(invocation);
  onlyCheck(given);
  return await checkFile(invocation, file);
}

async function checkFile(invocation: Invocation, file: string): Promise<ExitCode> {
  // Loaded only here, like all of `verify`: a server needs none of it.
  const { check } = await import('../../verify/check/check.ts');
  const { readHistory } = await import('../../verify/history/read-history.ts');
  const { NoHistory } = await import('../../verify/history/read-line.ts');
  let verdict: Verdict;
  try {
    verdict = check(readHistory(file));
  } catch (error) {
    const fault = error instanceof NoHistory ? `: ${error.message}` : ` ${fileFault(error)}`;
    throw new UsageError(`--check: ${file}${fault}`);
  }
  const of = file === '-' ? 'standard input' : file;
  return await tell(invocation, { verdict, of });
}

async function verifyServer(invocation: Invocation): Promise<ExitCode> {
  const { given, output } = invocation;
  const urls = given.values('url');
  if (urls.length === 0) throw new UsageError('--url is missing, or --check with a recording');
  const key = required(given, 'key');
  const { port, ...numbers } = readNumbers(given);
  const ca = given.value('ca');
  const manner = {
    timeoutMs: timeoutOf(given) * 1000,
    ca: ca === undefined ? undefined : readCertificate(ca),
    insecure: given.has('insecure'),
  };
  const { Recorder } = await import('../../verify/crowd/recorder.ts');
  const { Crowd } = await import('../../verify/crowd/crowd.ts');
  const { channelsOf, costOf, DEFAULT_PREFIXES } = await import('../../verify/crowd/plan.ts');
  const { WebhookListener } = await import('../../verify/crowd/webhook-listener.ts');
  const { reachServers } = await import('./reach-servers.ts');
  const prefixes = readPrefixes(given, DEFAULT_PREFIXES);
  const secret = secretOf(given, 'secret');
  if (secret === undefined) {
    output.complain(
      'fanfare: without --secret nothing can be triggered, so nothing can be checked',
    );
    return 3;
  }
  const credentials: Credentials = { appId: required(given, 'app-id'), key, secret };
  const apiUrl = given.value('api-url');
  const reached = await reachServers({ urls, apiUrl, credentials, manner }, output);
  if (reached === undefined) return 3;

  const letters = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) =>
    LETTERS.charAt(byte % LETTERS.length),
  ).join('');
  const channels = channelsOf(letters, prefixes);
  const run = `verify-${letters}`;
  const plan = { run, ...numbers, channels, listensForWebhooks: port !== undefined };
  const { triggers, deliveries } = costOf(plan);
  await using cleanup = new AsyncDisposableStack();
  const stop = new AbortController();
  const interrupted = () => stop.abort();
  process.on('SIGINT', interrupted);
  cleanup.defer(() => {
    process.off('SIGINT', interrupted);
  });
  // On standard error, so that standard output is the verdict alone.
  output.complain(
    `${run} begins: ${plan.seconds} s, ${plan.clients} connections. It sends about ${triggers} events, which is ${triggers + deliveries} messages with their deliveries, and counts towards the quota of the app (limits.messagesPerDay).`,
  );
  const header: Header = {
    history: 1,
    by: `fanfare verify ${BUILT_VERSION}`,
    app: credentials.appId,
    T: IN_TIME_MS,
    rules: { kept: channels.kept === undefined ? [] : [channels.kept], replay: [] },
    webhooks: plan.listensForWebhooks,
  };
  const file = given.value('history');
  const descriptor = file === undefined ? undefined : openNew(file);
  if (descriptor !== undefined) cleanup.defer(() => closeSync(descriptor));
  const recorder = new Recorder(header, monotonicTimers, (line) => {
    if (descriptor !== undefined) writeSync(descriptor, `${line}\n`);
  });
  if (port !== undefined) {
    const isOwn = (channel: string) => Object.values(channels).includes(channel);
    const listening = WebhookListener.start({ port, secret, recorder, isOwn });
    cleanup.use(
      await listening.catch((error) => {
        throw new UsageError(`--webhooks: port ${port} cannot be listened on: ${messageOf(error)}`);
      }),
    );
  }
  const crowd = new Crowd({
    plan,
    ...reached,
    credentials,
    timeoutMs: manner.timeoutMs,
    recorder,
    timers: monotonicTimers,
    // So that also a short run finds out that a link is silent.
    askAfterMs: IN_TIME_MS,
    stop: stop.signal,
  });
  const { cuts, refused } = await crowd.run();
  const verdict = recorder.verdict();
  const code = await tell(invocation, { verdict, run, of: urls.join(', '), cuts, history: file });
  if (refused === undefined) return code;
  output.complain(`fanfare: the run ended early, because ${refused}`);
  return code === 0 ? 3 : code;
}

/** Prints a verdict. */
async function tell({ given, output }: Invocation, report: Report): Promise<ExitCode> {
  const { isKept, reportJson, reportMarkdown, reportText } = await import('../../verify/report.ts');
  output.print(
    given.has('json') ? JSON.stringify(reportJson(report), undefined, 2) : reportText(report),
  );
  const file = given.value('report');
  if (file !== undefined) {
    try {
      writeFileSync(file, reportMarkdown(report));
    } catch (error) {
      throw new UsageError(`--report: ${file} cannot be written: ${messageOf(error)}`);
    }
  }
  return isKept(report.verdict) ? 0 : 1;
}

/** Creates a file that only its owner may read. Throws `UsageError` if it is there already. */
function openNew(file: string): number {
  try {
    return openSync(file, 'wx', 0o600);
  } catch (error) {
    throw new UsageError(`--history: ${file} cannot be created: ${messageOf(error)}`);
  }
}
