import type { CertificateState } from './certificates.ts';

/** What is wrong with the certificate of this server, for its operator. */
export interface CertificateFault {
  /** Whether no client can connect because of it. */
  readonly isMissing: boolean;
  readonly text: string;
}

/** Returns the fault, or `undefined` if all is well. */
export function faultOf(
  { endsAtMs, problem, nextAtMs }: CertificateState,
  nowMs: number,
): CertificateFault | undefined {
  const next = `The next order is at ${new Date(nextAtMs).toISOString()}`;
  const why = problem === '' ? '' : ` ${problem}. ${next}.`;
  if (endsAtMs === undefined) {
    return {
      isMissing: true,
      text: `There is no certificate yet.${why || ' It is being ordered.'}`,
    };
  }
  const ends = new Date(endsAtMs).toISOString();
  if (endsAtMs <= nowMs)
    return { isMissing: true, text: `The certificate ended at ${ends}.${why}` };
  if (problem === '') return undefined;
  return { isMissing: false, text: `The certificate was not renewed; it ends at ${ends}.${why}` };
}
