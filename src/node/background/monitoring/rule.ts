import type { Condition } from '../../../admin/monitoring/monitoring.ts';
import type { OpenCircuit } from '../../../push/delivering/ports.ts';
import type { Readiness } from '../../../transports/admin/readiness.ts';
import type { Webhooks } from '../../../webhooks/webhooks.ts';
import type { Sample, Samples } from './samples.ts';

/** What the rules look at. */
export interface Situation {
  readonly nowMs: number;
  readonly sample: Sample;
  readonly samples: Pick<Samples, 'increase' | 'last'>;
  readonly readiness: Pick<
    Readiness,
    'faultsOfStore' | 'awayEngines' | 'silent' | 'certificateFault'
  >;
  readonly endpoints: ReturnType<Webhooks['endpoints']>;
  readonly circuits: readonly PausedGateway[];
  readonly quotas: readonly UsedQuota[];
  /** `undefined` where the system does not tell. */
  readonly files: OpenFileCount | undefined;
  /** `undefined` if the store is not a file of this machine. */
  readonly disk: DiskSpace | undefined;
  /** When the certificate of this server ends; `undefined` if it has none, or it is renewed by ACME. */
  readonly certificateEndsAtMs: number | undefined;
}

export interface PausedGateway
  extends Pick<OpenCircuit, 'platform' | 'why' | 'words' | 'sinceMs' | 'isUnproven'> {
  readonly instanceId: string;
}

export interface UsedQuota {
  readonly appId: string;
  readonly messages: number;
  readonly messagesPerDay: number;
}

export interface OpenFileCount {
  readonly used: number;
  /** With this many, new connections are refused. */
  readonly most: number;
}

export interface DiskSpace {
  readonly path: string;
  readonly freeBytes: number;
  readonly bytes: number;
}

/** What a rule has found. Without `sinceMs`, it counts from when it was found first. */
export type Found = Omit<Condition, 'id' | 'sinceMs'> & {
  readonly sinceMs?: number;
  /** Tells apart what one rule finds; only needed for several at the same time. */
  readonly key?: string;
};

/** One thing that is checked. */
export interface Rule {
  readonly id: string;
  /** The alert of `packaging/monitoring/alerts.yml` that says the same. */
  readonly alert?: string;
  readonly check: (situation: Situation) => readonly Found[];
}

/** What is found if something is so. */
export function when(isSo: boolean, found: () => Found): readonly Found[] {
  return isSo ? [found()] : [];
}

/** A duration for people. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 172_800_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} days`;
}
