import type { Answer } from '../../api/client.ts';
import { count } from '../../parts/formats.ts';
import { Notice } from '../../parts/notices.tsx';
import { names, type Platform } from './words.ts';

export type CheckAnswers = Answer<'POST /instances/{id}/gateways/check'>['answers'];

const levels = { accepted: 'ok', refused: 'bad', silent: 'warn' } as const;

const verbs = {
  accepted: 'takes the credential',
  refused: 'refuses the credential',
  silent: 'does not answer as it should',
} as const;

/** The answers of gateways to a check. */
export function CheckResult({
  platform,
  answers,
}: {
  readonly platform: Platform;
  readonly answers: CheckAnswers;
}) {
  if (answers.length === 0) {
    return (
      <Notice level="warn">
        No push service is named without a star in web.allowedHosts, so none was asked.
      </Notice>
    );
  }
  return (
    <div class="stack tight">
      {answers.map(({ origin, result, why, advice, durationMs }) => (
        <Notice key={origin} level={levels[result]}>
          <p>
            {origin ?? names[platform]} {verbs[result]}
            {why !== '' && `: ${why}`}. <span class="muted">{count(durationMs)} ms</span>
          </p>
          {advice !== null && <p class="advice">{advice}</p>}
        </Notice>
      ))}
    </div>
  );
}
