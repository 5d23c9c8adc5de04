import { Recent } from '../../runtime/recent.ts';
import type { AskReport, OtherConnections } from './ask.ts';

/** The report of one of several loops that report together. */
export type PartOfReport = Extract<AskReport, { readonly what: 'asked' }>;

/** The limit of reports that lack parts. Of what is dropped, the origin counts the users as silent. */
const INCOMPLETE_MAX = 10_000;

/**
 * Makes one report of those of several loops of a process, if the question came to them as one: the origin counts the
 * processes.
 */
export class AskReports {
  private readonly send: (origin: string, report: PartOfReport) => void;
  private readonly incomplete = new Recent<string, PartOfReport[]>(INCOMPLETE_MAX);

  constructor(send: (origin: string, report: PartOfReport) => void) {
    this.send = send;
  }

  /** Adds the part of one loop. The last one sends the report. */
  add(origin: string, part: PartOfReport): void {
    const { attempt, loops = 1 } = part;
    const key = `${origin} ${attempt}`;
    const parts = this.incomplete.get(key) ?? [];
    parts.push(part);
    if (parts.length < loops) {
      this.incomplete.set(key, parts);
      return;
    }
    this.incomplete.delete(key);
    this.send(origin, reportOf(attempt, parts));
  }
}

function reportOf(attempt: number, parts: readonly PartOfReport[]): PartOfReport {
  const connections = parts.flatMap((part) => part.connections);
  const [others, ...moreOthers] = parts.flatMap((part): readonly OtherConnections[] =>
    part.others === undefined ? [] : [part.others],
  );
  const report = { what: 'asked', attempt, connections } as const;
  if (others === undefined) return report;
  // Servers of the previous release ask only the first of them for more.
  return moreOthers.length === 0 ? { ...report, others } : { ...report, others, moreOthers };
}
