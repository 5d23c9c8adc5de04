/** What this server is. */
export interface ServerFacts {
  /** Host and port. */
  readonly name: string;
  readonly version: string;
  /** How people call the program there, such as `npx fanfare`. */
  readonly command: string;
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
  'resumedPerSecond',
  'gapsPerSecond',
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

/** A condition, and the servers that have found it. */
export type ConditionOfCluster = Condition & { readonly servers: readonly string[] };

/** What one server has found. */
export interface Checked {
  readonly checkedAtMs: number;
  /** How many things were checked. */
  readonly checked: number;
  /** The worst first. */
  readonly conditions: readonly Condition[];
}

/** What all servers have found. */
export interface CheckedByAll extends Omit<Checked, 'conditions'> {
  readonly conditions: readonly ConditionOfCluster[];
}

/** What may limit the connections of a server: `channels.maxConnections`, open files, or memory. */
export const connectionLimits = ['setting', 'open-files', 'memory'] as const;

/** How many more idle connections a server can accept, and which limit applies. */
export interface SpareConnections {
  readonly connections: number;
  readonly limitedBy: (typeof connectionLimits)[number];
}

/** How one server does. */
export interface NodeReport {
  readonly version: string;
  readonly startedAtMs: number;
  /** `undefined` if a realtime loop does not answer. */
  readonly figures:
    | {
        readonly connections: number;
        /** `undefined` in the first seconds. */
        readonly eventsPerSecond?: number | undefined;
        readonly deliveredPerSecond?: number | undefined;
        readonly memoryBytes: number;
        /** Servers of an earlier version do not report it. */
        readonly room?: SpareConnections;
      }
    | undefined;
  readonly threads: readonly {
    readonly name: string;
    /** The longest delay of its loop in the last 10 s; `undefined` if it does not answer. */
    readonly lateMs?: number | undefined;
  }[];
  readonly engine: {
    readonly type: 'memory' | 'redis';
    readonly awaySinceMs?: number | undefined;
    readonly why?: string | undefined;
  };
  /** Why it is not ready; empty if it is. */
  readonly notReady: readonly string[];
  /** Conditions by their level. */
  readonly bad: number;
  readonly warn: number;
}

/** A server that is known. */
export interface ShownNode {
  readonly name: string;
  /** Whether it is the one that was asked. */
  readonly isAsked: boolean;
  /** When its last message came. */
  readonly heardAtMs: number;
  /** Since when it does not answer; `undefined`: it does. */
  readonly silentSinceMs: number | undefined;
  /** `undefined` if it does not answer. */
  readonly report: NodeReport | undefined;
}

/** Another server of the cluster. */
export interface KnownServer {
  readonly name: string;
  /** When its last message came. */
  readonly heardAtMs: number;
  /** Since when it has not answered; `undefined`: it answers. */
  readonly silentSinceMs: number | undefined;
}

/** A server that was asked, and whether it did not answer. */
export interface AskedServer {
  readonly name: string;
  readonly away: boolean;
}

/** An answer for all servers that act as one, with those that were asked. */
export interface OfAllServers {
  readonly servers: readonly AskedServer[];
}

/** What is of one server. */
export interface OfServer {
  /** Host and port of the server. */
  readonly server: string;
}

/**
 * What tells one installation from another: the database that all of its servers share, or, where each server has a
 * store of its own, their apps with their keys. All hashed.
 */
export type Installation = { readonly database: string } | { readonly apps: readonly string[] };
