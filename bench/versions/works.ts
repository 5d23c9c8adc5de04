import { AT_ONCE, type ConnectScenario, connectScenarios } from '../connections/connect.ts';
import { type FanOut, fanOuts, hearersOf } from '../fan-out/fan-outs.ts';
import { CONNECTIONS, DATA_BYTES, EVENTS_EACH } from '../fan-out/ingest.ts';
import { intakeOnce } from '../fan-out/measure.ts';
import type { LoadProcess } from '../load-calls.ts';
import type { Pinning } from '../machine/cores.ts';
import { UsageError } from '../options.ts';
import type { FanfareServer } from '../servers.ts';

/** A server, and the process that loads it. */
export interface Loaded {
  readonly server: FanfareServer;
  readonly load: LoadProcess;
  readonly pinning: Pinning;
}

/** The same work for two versions, in rounds of a given length. */
export interface Work {
  readonly name: string;
  readonly description: string;
  /** What the rounds count. */
  readonly piece: string;
  /** Settings of the app. */
  readonly app?: FanOut['app'];
  /** Before the first round. */
  prepare?(loaded: Loaded): Promise<void>;
  /** Returns how many pieces the server has done. Throws if it did not do all of them. */
  round(loaded: Loaded, seconds: number): Promise<number>;
}

/** So late that no step ends early: processor time counts here, and latency does not. */
const LATE_MS = 60_000;

/** Every scenario whose processor time can be counted in pieces. */
const works: readonly Work[] = [
  ...fanOuts.map(eventsOf),
  ...EVENTS_EACH.map(requestsOf),
  ...connectScenarios.map(connectionsOf),
];

/** The works of the chosen scenarios, or all of them. Throws `UsageError` if a scenario has none. */
export function chooseWorks(names: readonly string[]): readonly Work[] {
  const without = names.find((name) => !works.some((work) => work.name === name));
  if (without !== undefined) {
    const known = [...new Set(works.map(({ name }) => name))].join(', ');
    throw new UsageError(`--beside measures no processor time of "${without}", but of ${known}`);
  }
  return names.length === 0 ? works : works.filter(({ name }) => names.includes(name));
}

function eventsOf({ name, description, app, load: size, ...fanOut }: FanOut): Work {
  const { dataBytes, publishesPerSecond } = fanOut;
  return {
    name,
    description: `${description}; ${publishesPerSecond} events/s`,
    piece: 'event',
    ...(app === undefined ? {} : { app }),
    async prepare({ server, load, pinning }) {
      await intakeOnce(pinning, server.app);
      await load.call('connect', { ...size, app: server.app, staysAwake: pinning.areApart });
    },
    async round({ load }, seconds) {
      const { expected, missing, duplicated, refused, lost } = await load.call('step', {
        publishesPerSecond,
        warmupSeconds: 0,
        seconds,
        dataBytes,
        limitMs: LATE_MS,
      });
      const faults = { missing, duplicated, refused, lost };
      if (Object.values(faults).some((count) => count > 0)) {
        throw new Error(`${name}: not every event was delivered once: ${JSON.stringify(faults)}`);
      }
      return expected / hearersOf(size);
    },
  };
}

function requestsOf(eventsEach: number): Work {
  const batched = eventsEach === 1 ? 'one event each' : `batches of ${eventsEach} events`;
  return {
    name: 'ingest',
    description: `signed triggers to channels that nobody listens to, ${batched}`,
    piece: 'request',
    async round({ server, load, pinning }, seconds) {
      const { accepted, refused, firstRefusal } = await load.call('intake', {
        app: server.app,
        connections: CONNECTIONS,
        eventsEach,
        staysAwake: pinning.areApart,
        dataBytes: DATA_BYTES,
        warmupSeconds: 0,
        seconds,
      });
      if (refused > 0) throw new Error(`ingest: a trigger was refused: ${firstRefusal}`);
      return accepted;
    },
  };
}

function connectionsOf({ name, description, kind }: ConnectScenario): Work {
  return {
    name,
    description,
    piece: 'connection',
    async round({ server, load }, seconds) {
      const task = { app: server.app, kind, atOnce: AT_ONCE, warmupSeconds: 0, seconds };
      return (await load.call('churn', task)).completed;
    },
  };
}
