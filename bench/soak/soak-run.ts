import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monotonicTimers } from '../../src/runtime/system-timers.ts';
import type { Verdict } from '../../src/verify/check/verdict.ts';
import { Crowd } from '../../src/verify/crowd/crowd.ts';
import { channelsOf, DEFAULT_PREFIXES, type Plan } from '../../src/verify/crowd/plan.ts';
import { Recorder } from '../../src/verify/crowd/recorder.ts';
import type { Fields, Op } from '../../src/verify/history/line.ts';
import { destinationOf } from '../../testing/verify/destination.ts';
import type { AppAddress } from '../bench-app.ts';

/** The channels that keep a history begin so. */
export const KEPT = 'kept-';

/** How long an event may take: longer than promised, for a machine that has the clients as well. Milliseconds. */
const IN_TIME_MS = 20_000;

/** Triggered events per second, and cuts of connections per minute, of one crowd. */
const RATE = 5;
const CUTS = 60;

/** Records a run in which nothing breaks, so that every connection that the server ends is a fault of it. */
class SoakRecorder extends Recorder {
  /** Connections that were established. */
  opened = 0;
  readonly ended: number[] = [];

  override add<O extends Op>(op: O, fields: Fields[O], t?: number): void {
    super.add(op, fields, t);
    if (op === 'open') this.opened++;
  }

  override connectionLost(code: number): void {
    this.ended.push(code);
  }
}

interface SoakRunOptions {
  readonly app: AppAddress;
  /** No other run of this server has the same. */
  readonly number: number;
  readonly clients: number;
  readonly seconds: number;
  readonly stop: AbortSignal;
}

/** What came of a run. */
export interface SoakRun {
  readonly verdict: Verdict;
  readonly connections: number;
  /** What was not as promised. */
  readonly problems: readonly string[];
}

/** Lets a crowd of `fanfare verify` come, chat and go in channels of its own. Keeps the history if something is wrong. */
export async function soakRun(options: SoakRunOptions): Promise<SoakRun> {
  const { app, number, clients, seconds, stop } = options;
  const letters = number.toString(36).padStart(8, '0');
  const channels = channelsOf(letters, { ...DEFAULT_PREFIXES, kept: KEPT });
  const { kept = KEPT } = channels;
  const run = `verify-${letters}`;
  const plan: Plan = {
    run,
    seconds,
    clients,
    rate: RATE,
    cuts: CUTS,
    channels,
    listensForWebhooks: false,
  };
  const lines: string[] = [];
  const recorder = new SoakRecorder(
    {
      history: 1,
      by: 'bench/soak',
      app: app.appId,
      T: IN_TIME_MS,
      rules: { kept: [kept], replay: [] },
      webhooks: false,
    },
    monotonicTimers,
    (line) => lines.push(line),
  );
  const to = [destinationOf(`http://${app.host}:${app.port}`)];
  const crowd = new Crowd({
    plan,
    clientsTo: to,
    apiTo: to,
    credentials: app,
    timeoutMs: IN_TIME_MS,
    recorder,
    timers: monotonicTimers,
    stop,
  });
  const { refused } = await crowd.run();
  const verdict = recorder.verdict();
  const broken = verdict.witnesses.map(({ rule, text }) => `${rule}: ${text}`);
  const problems = [
    ...broken,
    ...recorder.ended.map((code) => `the server ended a connection with ${code}`),
    ...(refused === undefined ? [] : [refused]),
    // Of a run that was stopped, not everything could be compared.
    ...(verdict.rules.present.checked > 0 || stop.aborted
      ? []
      : ['not all clients were subscribed in the end']),
  ];
  if (problems.length > 0) {
    const file = join(tmpdir(), `${run}-${process.pid}.jsonl`);
    writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o600 });
    problems.push(`its history: ${file}`);
  }
  return { verdict, connections: recorder.opened, problems };
}
