import type { AudienceSource } from '../audience-source.ts';
import type { DeliveryStore } from '../delivery-store.ts';
import type { Gateway } from '../gateway.ts';
import type { PublishUnderWay } from '../model/delivery.ts';
import type { Platform } from '../model/device.ts';
import type { Opening } from './routes/circuit-breaker.ts';
import type { DeliveryLimits } from './limits.ts';

/** Time, as the pipeline sees it. */
export interface PipelineTimers {
  now(): number;
  /** Runs something once, later; gives how to take that back. */
  after(ms: number, run: () => void): () => void;
}

export type GatewayOf = { readonly [P in Platform]: Gateway<P> | undefined };

/** What this server knows of an instance now. */
export interface DeliveredInstance {
  /** A UUID in lower case. */
  readonly id: string;
  /** Those that are configured. A changed credential is another object: all that was learned of the old one is forgotten. */
  readonly gateways: GatewayOf;
}

export interface DeliveredInstances {
  /** `undefined`: this server does not know it, or not yet; its work is left to others. */
  byNumber(instance: number): DeliveredInstance | undefined;
}

/** Hears how publishes come on. Neither may throw. */
export interface PublishEvents {
  /** Planning has begun. Told again where a server died before it had planned a page. */
  started(publish: PublishUnderWay): void;
  /**
   * Nothing of it waits any more. Told once at most: not where a server dies, or the store's answer is lost. What is
   * to be told of it for certain is among the `UntoldEnds` of the store.
   */
  finished(publish: PublishUnderWay): void;
}

/** A route to devices that is not used for the time being. */
export interface OpenCircuit {
  readonly instance: number;
  readonly platform: Platform;
  /** Of a push service, where it is one of several. */
  readonly origin: string | undefined;
  readonly why: Opening['why'];
  readonly reason: string;
  /** The gateway's own. */
  readonly words: string;
  readonly sinceMs: number;
  /** No device was ever accepted, so only newcomers say so. Others may still be reached. */
  readonly isUnproven?: true;
}

/** Hears what an operator should know. None may throw. */
export interface PipelineNotices {
  /** The store could not be asked: what needs it waits, and tries again. */
  storeFailed(error: unknown): void;
  /** It could again, after it had failed. */
  storeWorked(): void;
  paused(pause: OpenCircuit): void;
  resumed(pause: OpenCircuit): void;
  /** Every device of a publish is refused for the same reason: the others are not tried. */
  refused(publish: PublishUnderWay, platform: Platform, reason: string, words: string): void;
  /** Something has broken its contract. */
  fault(error: unknown): void;
}

/** What the pipeline asks of the world. */
export interface PipelinePorts {
  readonly store: DeliveryStore;
  readonly audience: AudienceSource;
  readonly instances: DeliveredInstances;
  readonly timers: PipelineTimers;
  /** From 0 to 1, 1 excluded. */
  readonly random: () => number;
  readonly events: PublishEvents;
  readonly notices: PipelineNotices;
  /** Whether no other server uses the store: then what a server claimed that died need not be waited for. */
  readonly isAlone: boolean;
  /** How fast each gateway may be used, by one instance and, on the web, for one push service. */
  readonly rates?: Readonly<Record<Platform, Rate>>;
  readonly limits?: DeliveryLimits;
}
