import type { Timers } from '../../runtime/ports.ts';
import type { AudienceSource } from '../audience-source.ts';
import type { BacklogStore } from '../backlog-store.ts';
import type { Gateway } from '../gateway.ts';
import type { JobStore } from '../job-store.ts';
import type { PublishUnderWay } from '../model/delivery.ts';
import type { Platform } from '../model/device.ts';
import type { PlanningStore } from '../planning-store.ts';
import type { PushTaps } from '../watching/push-tap.ts';
import type { WorkClaims } from '../work-claims.ts';
import type { Manners } from './due-times.ts';
import type { DeliveryLimits } from './limits.ts';
import type { CircuitFault } from './routes/circuit/circuit-breaker.ts';

export type GatewayOf = { readonly [P in Platform]: Gateway<P> | undefined };

/** The present state of an instance on this server. */
export interface DeliveredInstance {
  /** A UUID in lower case. */
  readonly id: string;
  /**
   * The configured gateways. A changed credential is a new object; what was learned about the old one is forgotten.
   */
  readonly gateways: GatewayOf;
  /** The limit of the bytes of unfinished publishes; 0: none. */
  readonly pendingBytesMax: number;
  /** For how long a notification is tried after it was due. */
  readonly retryMs: number;
  /** What holds for devices that say nothing themselves. */
  readonly manners?: Manners | undefined;
}

export interface DeliveredInstances {
  /** `undefined`: this server does not know the instance yet, so its jobs are left to others. */
  byNumber(instance: number): DeliveredInstance | undefined;
}

/** Reports the progress of publishes. Neither method may throw. */
export interface PublishEvents {
  /** Planning has begun. Called again if a server stopped before it had planned a page. */
  started(publish: PublishUnderWay): void;
  /**
   * Every device has its result. Called at most once: not if the server crashes, or the store's answer is lost. What
   * must be delivered is among the `PendingCompletionEvents` of the store.
   */
  finished(publish: PublishUnderWay): void;
}

/** A route with an open circuit: only probes are sent over it. */
export interface OpenCircuit extends CircuitFault {
  readonly instance: number;
  readonly platform: Platform;
  /** The push service of a route that leads to one of several. */
  readonly origin: string | undefined;
  /** When it opened, by the system's clock. */
  readonly sinceMs: number;
}

export interface CircuitEvent {
  readonly what: 'opened' | 'closed';
  readonly circuit: OpenCircuit;
}

/** What gave way in an instance. */
export interface PublishesLeft {
  readonly instance: number;
  /** How many. */
  readonly publishes: number;
  readonly devices: Readonly<Record<Platform, number>>;
}

/** Reports what an operator should know. None may throw. */
export interface PipelineNotices {
  /** The store cannot be used. The pipeline tries again. */
  storeFailed(error: unknown): void;
  circuitOpened(circuit: OpenCircuit): void;
  circuitClosed(circuit: OpenCircuit): void;
  /** Publishes of an instance gave way to new ones: these devices do not get them. */
  gaveWay(left: PublishesLeft): void;
  /** Every device of a publish is refused for the same reason, so the others are not tried. */
  refused(publish: PublishUnderWay, platform: Platform, reason: string, words: string): void;
  /** Something has broken its contract. */
  fault(error: unknown): void;
}

/** The ports to the store that the pipeline uses, implemented by one object. */
export type DeliveryStore = PlanningStore & JobStore & WorkClaims;

/** What the pipeline needs. */
export interface PipelinePorts {
  readonly store: DeliveryStore;
  readonly backlog: BacklogStore;
  readonly audience: AudienceSource;
  readonly instances: DeliveredInstances;
  /** With the system's clock, which may be set. */
  readonly timers: Timers;
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number;
  readonly events: PublishEvents;
  readonly notices: PipelineNotices;
  /**
   * Handles publishes with a live part that are due now. Planning continues when the result is stored, or after the
   * deadline.
   */
  readonly live?: { due(publish: PublishUnderWay): void } | undefined;
  /** Shows pages and outcomes in live streams. */
  readonly taps?: PushTaps;
  /** Whether no other server uses the store. If so, claims of a server that crashed are released at the start. */
  readonly isAlone: boolean;
  /** Most sends per second to each gateway, for one instance and, on the web, for one push service. */
  readonly rates?: Readonly<Record<Platform, number>>;
  readonly limits?: DeliveryLimits;
}

/** A gateway that this server has paused for one instance. */
export type PausedRoute = Pick<
  OpenCircuit,
  'platform' | 'origin' | 'why' | 'reason' | 'words' | 'isUnproven' | 'sinceMs'
>;

/** A gateway's latest outcomes, for one instance. Times are the system's. */
export interface LastOutcomes {
  /** `undefined`: never since the start. */
  acceptedAtMs: number | undefined;
  /** When it refused the credential, or failed. */
  refusal: { readonly atMs: number; readonly reason: string; readonly words: string } | undefined;
}
