import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One file for each kind of run: `simulation.json`. */
export const EVIDENCE_FOLDER = join(import.meta.dir, '../../bench/evidence');

/** The kinds of runs, in the order of `docs/use/evidence.md`. */
export const evidenceSections = [
  'simulation',
  'sabotage',
  'faults',
  'power',
  'upgrades',
  'verify',
  'scale',
  'recovery',
] as const;
export type EvidenceSection = (typeof evidenceSections)[number];

/** What a run was and what came of it. */
export interface EvidenceResult {
  readonly section: EvidenceSection;
  /** Unique in its section. A later run of the same name replaces it. */
  readonly name: string;
  /** What repeats the run, for a shell in the root of the repository. */
  readonly command: string;
  /**
   * `held`: no promise was broken; `found`: a planted fault was found; `measured`: there was nothing to decide; `not run`: the
   * machine cannot run it.
   */
  readonly result: 'held' | 'broken' | 'found' | 'not found' | 'measured' | 'not run';
  /** For a run that is broken or not run. */
  readonly why?: string;
  /** In the order in which they are printed, for example `{ seeds: 1000, 'virtual hours': 25 }`. Numbers that have a unit are texts. */
  readonly figures: Readonly<Record<string, string | number>>;
}

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
}

/** A run as it is kept: anybody can repeat it. */
export interface EvidenceRow extends EvidenceResult {
  /** 40 hexadecimal digits. */
  readonly commit: string;
  /** The version that this commit is, or becomes. */
  readonly version: string;
  /** `2026-11-28`, UTC. */
  readonly date: string;
  readonly machine: Machine;
}

/** All runs that are kept, in the order of the sections. */
export function readEvidence(): readonly EvidenceRow[] {
  return evidenceSections.flatMap(readSection);
}

/** The kept runs of one kind. */
export function readSection(section: EvidenceSection): readonly EvidenceRow[] {
  const path = join(EVIDENCE_FOLDER, `${section}.json`);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : [];
}
