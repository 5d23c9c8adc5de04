import type { OpenCircuit } from '../../push/delivering/ports.ts';
import type { Platform } from '../../push/model/device.ts';

/** What this server is. */
export interface ServerFacts {
  /** Host and port. */
  readonly name: string;
  readonly version: string;
  readonly startedAtMs: number;
  /** Realtime loops. */
  readonly threads: number;
  readonly engine: 'memory' | 'redis';
  readonly store: 'sqlite' | 'postgresql';
  readonly listeners: {
    readonly channels: ServerListener & { readonly pathPrefix: string };
    readonly push: ServerListener & { readonly publicUrl: string | null };
    readonly admin: ServerListener;
  };
}

interface ServerListener {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

/** The figures of a server that are kept for a day, in the order in which they are shown. */
const seriesNames = [
  'connections',
  'deliveredPerSecond',
  'eventsPerSecond',
  'loopLateMs',
  'memoryBytes',
  'webhooksWaiting',
  'pushWaiting',
] as const;

export type SeriesName = (typeof seriesNames)[number];

/** Makes something for each of these figures. */
export function bySeries<T>(make: (name: SeriesName) => T): Record<SeriesName, T> {
  return Object.fromEntries(seriesNames.map((name) => [name, make(name)])) as Record<SeriesName, T>;
}

/** Figures in steps of equal length. */
export interface KeptFigures {
  readonly nowMs: number;
  readonly stepMs: number;
  /** When the first step begins. */
  readonly fromMs: number;
  /** One value for each step; `null` where nothing was measured. */
  readonly series: Readonly<Record<SeriesName, readonly (number | null)[]>>;
}

/** Something that an operator should look at. */
export interface Condition {
  /** What it is about, such as `store-away`. */
  readonly id: string;
  /** bad: something does not work now, or was lost; warn: it soon may. */
  readonly level: 'bad' | 'warn';
  readonly text: string;
  /** What the operator can do. */
  readonly advice: string;
  readonly sinceMs: number;
  readonly app?: string;
  readonly instance?: string;
  readonly webhookUrl?: string;
}

export interface Checked {
  readonly checkedAtMs: number;
  /** How many things were checked. */
  readonly checked: number;
  /** The worst first. */
  readonly conditions: readonly Condition[];
}

/** A gateway that this server has paused for one instance. */
export type PausedRoute = Pick<
  OpenCircuit,
  'platform' | 'origin' | 'why' | 'reason' | 'words' | 'isUnproven' | 'sinceMs'
>;

/** What the gateway of an instance said last to this server, since its start. */
export interface SaidByGateway {
  readonly acceptedAtMs: number | undefined;
  /** When it refused the credential, or failed. */
  readonly refusal:
    | { readonly atMs: number; readonly reason: string; readonly words: string }
    | undefined;
}

/** What an operator sees of this server. */
export interface Monitoring {
  server(): ServerFacts;
  /** What has been measured since a time, at most for a day. */
  figures(sinceMs: number): Promise<KeptFigures>;
  conditions(): Promise<Checked>;
  /** The gateways of an instance that are paused now. */
  pauses(instanceId: string): readonly PausedRoute[];
  saidLast(instanceId: string, platform: Platform): SaidByGateway;
}
