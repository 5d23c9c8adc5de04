import { closeSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { monotonicTimers } from '../../src/runtime/system-timers.ts';
import { ruleNames, type Verdict } from '../../src/verify/check/verdict.ts';
import { Crowd } from '../../src/verify/crowd/crowd.ts';
import { channelsOf, DEFAULT_PREFIXES, type Plan } from '../../src/verify/crowd/plan.ts';
import { WebhookListener } from '../../src/verify/crowd/webhook-listener.ts';
import type { FaultKind } from '../../src/verify/history/line.ts';
import type { EvidenceSection } from '../../testing/evidence/rows.ts';
import { Random } from '../../testing/random.ts';
import { APP } from '../../testing/servers/fanfare.ts';
import { freePort } from '../../testing/servers/free-port.ts';
import { destinationOf } from '../../testing/verify/destination.ts';
import { FaultRecorder } from './fault-recorder.ts';
import { type Installation, KEPT } from './installation.ts';

/** Something that breaks while clients are watched. */
export interface Scene {
  readonly name: string;
  /** Where `docs/use/evidence.md` lists it. */
  readonly section: EvidenceSection;
  /** Whether it runs in a network of its own. */
  readonly inOwnNetwork: boolean;
  /** Why this machine cannot run it; `undefined` if it can. */
  readonly lacks: () => string | undefined;
  /** Runs it under a crowd, and judges it. Removes the history unless something is wrong, and then keeps the logs of the servers as well. */
  readonly run: (options: RunOptions) => Promise<Outcome>;
}

interface SceneParts<Site extends Installation> {
  readonly name: string;
  readonly section?: EvidenceSection;
  readonly inOwnNetwork?: boolean;
  /** The programs that it starts. */
  readonly needs?: readonly string[];
  /** What else this machine may lack. */
  readonly lacks?: () => string | undefined;
  readonly start: (webhooksPort: number) => Promise<Site>;
  readonly act: (trial: Trial<Site>) => Promise<void>;
}

export function scene<Site extends Installation>(parts: SceneParts<Site>): Scene {
  const { name, section = 'faults', inOwnNetwork = false, needs = [], lacks } = parts;
  return {
    name,
    section,
    inOwnNetwork,
    lacks() {
      const missing = needs.filter((program) => Bun.which(program) === null);
      if (missing.length > 0) return `this machine has no ${missing.join(', ')}`;
      return lacks?.();
    },
    run: (options) => runScene(parts, options),
  };
}

/** What came of a scene. */
export interface Outcome {
  readonly verdict: Verdict;
  /** What the scene has done, and how often. */
  readonly done: ReadonlyMap<string, number>;
  /** Why it is not held, beside broken promises. */
  readonly problems: readonly string[];
}

/** Longer than a scene: it ends itself. In whole periods of the crowd. Seconds. */
const SECONDS_MAX = 86_400;
/** After this time without a fault, every promise must hold again, webhooks as the last. Milliseconds. */
const SETTLED_MS = 31_000;
/** How long it may take until everything was compared after that. Milliseconds. */
const CALM_MAX_MS = 90_000;
/** So that the answers to the last questions come. Milliseconds. */
const LAST_MS = 1500;
const CONNECTING_MS = 2000;
const LOOK_MS = 50;

/** The rules that a scene of Channels must have tried. */
const TRIED = ruleNames.filter((name) => name !== 'pushes' && name !== 'live');

/** What a scene does its faults with. */
export class Trial<Site extends Installation> {
  readonly installation: Site;
  readonly random: Random;
  private readonly recorder: FaultRecorder;
  private readonly stop: AbortSignal;
  /** What was done so far, and how often. */
  readonly done = new Map<string, number>();
  private lastFaultEndsAt = 0;
  readonly problems: string[] = [];

  constructor(
    installation: Site,
    random: Random,
    { recorder, stop }: { readonly recorder: FaultRecorder; readonly stop: AbortSignal },
  ) {
    this.installation = installation;
    this.random = random;
    this.recorder = recorder;
    this.stop = stop;
  }

  /** Triggers that were answered with 200 so far. */
  get triggersAnswered(): number {
    return this.recorder.triggersAnswered;
  }

  /** Notes a fault that begins now, of server `at` if it is of one. */
  fault(what: FaultKind, { at, ms }: { readonly at?: number; readonly ms?: number } = {}): void {
    const { now } = this.recorder;
    this.recorder.add('fault', {
      what,
      ...(at === undefined ? {} : { on: `server ${at + 1}` }),
      ...(ms === undefined ? {} : { until: now + ms }),
    });
    this.lastFaultEndsAt = now + (ms ?? 0);
  }

  /** Counts something that was done. */
  did(what: string, times = 1): void {
    this.done.set(what, (this.done.get(what) ?? 0) + times);
  }

  /** Notes something that is not as promised, and that the checker cannot see. */
  problem(text: string): void {
    this.problems.push(text);
  }

  /** Lets time pass. Throws if the scene is ended from outside. */
  async pass(ms: number): Promise<void> {
    await Bun.sleep(ms);
    this.stop.throwIfAborted();
  }

  /** Waits until everything was compared that must be right some time after the last fault. */
  async settles(): Promise<void> {
    const from = Math.max(this.lastFaultEndsAt + SETTLED_MS, this.recorder.now);
    while (this.recorder.calmAt < from) {
      if (this.recorder.now > from + CALM_MAX_MS) {
        throw new Error(
          `not all clients were subscribed within ${(SETTLED_MS + CALM_MAX_MS) / 1000} s of the last fault`,
        );
      }
      await this.pass(LOOK_MS);
    }
  }
}

export interface RunOptions {
  readonly seed: number;
  /** Where the history is written. */
  readonly file: string;
  readonly stop: AbortSignal;
  /** Whether clients stay, so that all that comes and goes does so by the faults. */
  readonly isQuiet?: boolean;
}

async function runScene<Site extends Installation>(
  { start, act }: SceneParts<Site>,
  { seed, file, stop, isQuiet = false }: RunOptions,
): Promise<Outcome> {
  await using parts = new AsyncDisposableStack();
  const webhooksPort = await freePort();
  const installation = parts.use(await start(webhooksPort));
  const letters = seed.toString(36).padStart(8, '0').slice(-8);
  const channels = channelsOf(letters, { ...DEFAULT_PREFIXES, kept: KEPT });
  const { kept = KEPT } = channels;
  const plan: Plan = {
    run: `verify-${letters}`,
    seconds: SECONDS_MAX,
    clients: 12,
    rate: 10,
    cuts: isQuiet ? 0 : 40,
    channels,
    listensForWebhooks: true,
  };
  const descriptor = openSync(file, 'wx', 0o600);
  parts.defer(() => closeSync(descriptor));
  const recorder = new FaultRecorder(
    {
      history: 1,
      by: 'test/faults',
      app: APP.id,
      T: 5000,
      rules: { kept: [kept], replay: [] },
      webhooks: true,
    },
    monotonicTimers,
    (line) => writeSync(descriptor, `${line}\n`),
  );
  const isOwn = (channel: string) => Object.values(channels).includes(channel);
  const { secret } = APP;
  parts.use(await WebhookListener.start({ port: webhooksPort, secret, recorder, isOwn }));
  const end = new AbortController();
  const crowd = new Crowd({
    plan,
    clientsTo: installation.clientsTo.map(destinationOf),
    apiTo: installation.ports.map((port) => destinationOf(`http://127.0.0.1:${port}`)),
    credentials: { appId: APP.id, key: APP.key, secret },
    timeoutMs: 5000,
    recorder,
    timers: monotonicTimers,
    stop: end.signal,
  });
  const trial = new Trial(installation, new Random(seed), { recorder, stop });
  const { problems } = trial;
  const running = crowd.run();
  try {
    // Everybody is there before something breaks.
    await trial.pass(CONNECTING_MS);
    await act(trial);
    await trial.pass(LAST_MS);
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  end.abort();
  const { refused } = await running;
  if (refused !== undefined) problems.push(refused);
  const verdict = recorder.verdict();
  const untried = TRIED.filter((name) => verdict.rules[name].state === 'not-tried');
  if (untried.length > 0 && !isQuiet) problems.push(`not tried: ${untried.join(', ')}`);
  const isBroken = ruleNames.some((name) => verdict.rules[name].state === 'broken');
  if (problems.length === 0 && !isBroken) rmSync(file);
  else {
    for (const [at, { output }] of installation.servers.entries()) {
      writeFileSync(`${file}.server-${at + 1}.log`, output.stderr);
    }
  }
  return { verdict, done: trial.done, problems };
}
