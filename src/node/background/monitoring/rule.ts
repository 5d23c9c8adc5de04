import type { Condition } from '../../../asking/facts/servers.ts';
import type { SourceOfServer } from '../../../asking/facts/sources.ts';
import type { OpenCircuit } from '../../../push/delivering/ports.ts';
import type { Readiness } from '../../../transports/admin/readiness.ts';
import type { Webhooks } from '../../../webhooks/webhooks.ts';
import type { KeySetReport } from '../key-sets/key-sets.ts';
import type { Sample, Samples } from './samples.ts';

/** The input of the rules. */
export interface Situation {
  readonly nowMs: number;
  readonly sample: Sample;
  readonly samples: Pick<Samples, 'increase' | 'last'>;
  readonly readiness: Pick<
    Readiness,
    'faultsOfStore' | 'awayEngines' | 'silent' | 'certificateFault' | 'tlsFilesFault'
  >;
  readonly endpoints: ReturnType<Webhooks['endpoints']>;
  readonly circuits: readonly PausedGateway[];
  readonly keySets: readonly KeySetReport[];
  readonly sources: readonly SourceOfServer[];
  readonly quotas: readonly UsedQuota[];
  readonly unknownSettings: readonly UnknownOfTenant[];
  /** `undefined` if the system does not report it. */
  readonly files: OpenFileCount | undefined;
  /** `undefined` if the store is not a local file. */
  readonly disk: DiskSpace | undefined;
  /** When this server's certificate expires; `undefined` if it has none, or if ACME renews it. */
  readonly certificateEndsAtMs: number | undefined;
}

export interface PausedGateway
  extends Pick<OpenCircuit, 'platform' | 'why' | 'words' | 'sinceMs' | 'isUnproven'> {
  readonly instanceId: string;
}

/** Settings of an app or instance that a later version has stored. */
export interface UnknownOfTenant {
  readonly noun: 'app' | 'instance';
  readonly id: string;
  readonly settings: readonly string[];
}

export interface UsedQuota {
  readonly appId: string;
  readonly messages: number;
  readonly messagesPerDay: number;
}

export interface OpenFileCount {
  readonly used: number;
  /** At this number, new connections are refused. */
  readonly most: number;
}

export interface DiskSpace {
  readonly path: string;
  readonly freeBytes: number;
  readonly bytes: number;
}

/** A finding of a rule. Without `sinceMs`, it counts from its first appearance. */
export type Found = Omit<Condition, 'id' | 'sinceMs'> & {
  readonly sinceMs?: number;
  /** Distinguishes several findings of one rule. */
  readonly key?: string;
};

/** A condition that is checked. */
export interface ConditionRule {
  readonly id: string;
  /** The matching alert in `docs/monitoring/alerts.yml`. */
  readonly alert?: string;
  readonly check: (situation: Situation) => readonly Found[];
}

/** Returns the findings that hold now. */
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
